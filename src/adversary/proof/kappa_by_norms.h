/*
 * kappa_by_norms.h: the proof of second_order.h from norms alone: neither columns of D nor factors, for kernels
 * that soon forget where they began.
 */
#ifndef NADIR_PROOF_KAPPA_BY_NORMS_H
#define NADIR_PROOF_KAPPA_BY_NORMS_H

#include "adversary/proof/certificate.h"
#include "adversary/proof/occupancy_bounds.h"

/* Where kappa is more than this with the least that |Phi D| can be, columns of D do not bring it to 1/2
 * either: on random dense kernels of 20 to 300 states they did at 0.40, 0.30, 0.20, and never above. */
#define NADIR_KAPPA_HOPELESS 0.55

/* visits: of all kernels of the set. attack: tau > 0. Makes `proof` better where kappa <= 1/2; otherwise it
 * is left as it was, but for `hopeless`. O(states^2) and a few solves; two thirds of states^3 where that may
 * well do. */
nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable,
                                        const nadir_occupancy_bounds *bounds, double beta,
                                        const nadir_attack *attack, nadir_certificate *proof);

#endif
