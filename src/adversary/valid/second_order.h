/*
 * second_order.h: the proof that P* is the worst kernel of the ball, p = 2, from the columns of D.
 */
#ifndef NADIR_ADVERSARY_SECOND_ORDER_H
#define NADIR_ADVERSARY_SECOND_ORDER_H

#include "adversary/valid/proof.h"
#include "adversary/valid/visits.h"

/* visits: of all kernels of the set. attack: tau > 0. rounds: of the Lagrangian bound at most. Makes `proof`
 * better where it can: lower, bound, kappa, tau and v_tau. */
nadir_status nadir_second_order_prove(nadir_context *context, const nadir_problem *problem,
                                      const nadir_live *live, const nadir_visits *visits, double beta,
                                      const nadir_attack *attack, int rounds, double wanted,
                                      nadir_valid_proof *proof);

/* The same without columns: kappa is an estimate. */
nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_live *live, const nadir_visits *visits, double beta,
                                            const nadir_attack *attack, nadir_valid_proof *proof);

#endif
