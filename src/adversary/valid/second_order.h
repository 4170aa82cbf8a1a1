/*
 * second_order.h: the proof that P* is the worst kernel of the ball, p = 2, from the columns of D.
 */
#ifndef NADIR_ADVERSARY_SECOND_ORDER_H
#define NADIR_ADVERSARY_SECOND_ORDER_H

#include "adversary/proof/occupancy_bounds.h"
#include "adversary/valid/prove.h"

/* visits: of all kernels of the set; bounded better, with proof->d_bar, where that is needed. attack: tau >
 * 0. Makes `proof` better where it can: lower, bound, kappa, tau and v_tau. Stops when it is `wanted`; strict
 * takes no short cuts, so that kappa is the smallest that can be had, and tries for longer. */
nadir_status nadir_second_order_search(nadir_context *context, const nadir_problem *problem,
                                       const nadir_perturbable_rows *live, nadir_occupancy_bounds *visits,
                                       double beta, const nadir_attack *attack, nadir_certify effort,
                                       double wanted, nadir_certificate *proof);

/* The same without columns: kappa is an estimate. */
nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *live,
                                            const nadir_occupancy_bounds *visits, double beta,
                                            const nadir_attack *attack, nadir_certificate *proof);

#endif
