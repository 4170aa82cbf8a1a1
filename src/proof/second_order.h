/*
 * second_order.h: proofs without columns of D that a candidate P* is the worst kernel of the ball, p = 2:
 * kappa <= 1/2 (kkt.h), by norms (kappa_by_norms.c) or by Lanczos iterations (second_order_large.c).
 *
 * Both need tau > 0 and bounds on the occupancies of all kernels of the set, and improve the certificate
 * where they can.
 */
#ifndef NADIR_PROOF_SECOND_ORDER_H
#define NADIR_PROOF_SECOND_ORDER_H

#include "proof/certificate.h"
#include "proof/occupancy_bounds.h"

/* Where kappa is more than this with the least that |Phi D| can be, columns of D do not bring it to 1/2
 * either: on random dense kernels of 20 to 300 states they did at 0.40, 0.30, 0.20, and never above. */
#define NADIR_KAPPA_HOPELESS 0.55

/* kappa by norms alone, without columns of D or factors, for kernels that mix fast. Where kappa > 1/2 the
 * certificate keeps what it had, except `hopeless`. O(states^2) and a few solves; 2/3 states^3 where that may
 * suffice. */
nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable,
                                        const nadir_occupancy_bounds *bounds, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *proof);

/* kappa as the norm of an operator, estimated by Lanczos iterations: a proof by it is `numerical`. What the
 * radius alone proves is rigorous. */
nadir_status nadir_second_order_prove_large(nadir_context *context, const nadir_problem *problem,
                                            const nadir_perturbable_rows *perturbable,
                                            const nadir_occupancy_bounds *bounds, double beta,
                                            const nadir_candidate *candidate, nadir_certificate *proof);

#endif
