/*
 * collective.h: the proof of second_order.h from norms alone: neither columns of D nor factors, for kernels
 * that soon forget where they began.
 */
#ifndef NADIR_ADVERSARY_COLLECTIVE_H
#define NADIR_ADVERSARY_COLLECTIVE_H

#include "adversary/valid/prove.h"

/* visits: of all kernels of the set. attack: tau > 0. Makes `proof` better where kappa <= 1/2; otherwise it
 * is left as it was, but for `hopeless`. O(states^2) and a few solves; two thirds of states^3 where that may
 * well do. */
nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *live,
                                        const nadir_occupancy_bounds *visits, double beta,
                                        const nadir_attack *attack, nadir_certificate *proof);

/* *hopeless: kappa is far above 1/2, as far as value and occupancy of an attack tell, where the kernel is one
 * of those. Nothing is proven by it. */
nadir_status nadir_kappa_foresee(nadir_context *context, const nadir_problem *problem, double beta,
                                 const nadir_attack *attack, bool *hopeless);

#endif
