/*
 * second_order.h: the proof that P* is the worst kernel of the ball, p = 2.
 */
#ifndef NADIR_PROOF_SECOND_ORDER_H
#define NADIR_PROOF_SECOND_ORDER_H

#include "adversary/proof/certificate.h"
#include "adversary/proof/occupancy_bounds.h"

/* The same without columns: kappa is an estimate. */
nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *perturbable,
                                            const nadir_occupancy_bounds *bounds, double beta,
                                            const nadir_attack *attack, nadir_certificate *proof);

#endif
