/*
 * multistart.h: descents from several starts.
 *
 * A state that the kernel at hand does not visit has no gradient: what the adversary would do there is
 * invisible until it sends somebody. A descent from the nominal kernel can therefore stop at a false optimum.
 * The kernel of the Lagrangian bound answers in every state, visited or not; a descent from there, once it is
 * brought into the ball, sees what the other one cannot.
 */
#ifndef NADIR_SEARCH_MULTISTART_H
#define NADIR_SEARCH_MULTISTART_H

#include "adversary/search/frank_wolfe.h"
#include "adversary/search/lagrangian_tau.h"

/* From the nominal kernel and, where some state that the set can reach is not visited by what that finds,
 * from Lagrangian answers. attack: of zeros. */
nadir_status nadir_multistart_run(nadir_context *context, const nadir_problem *problem, double beta,
                                  double tolerance, int64_t iterations_limit, nadir_attack *attack);

/* From the answers of the rows to v and d, [states] each: about value and occupancy under the worst kernel.
 * spare: [2] owned kernels of the model that may be written over, or NULL each; what is there afterwards is
 * the caller's too. */
nadir_status nadir_frank_wolfe_warm(nadir_context *context, const nadir_problem *problem, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_kernel **spare, nadir_attack *attack);

/* From the answers of a Lagrangian bound; the attack becomes what that finds if it is worse for the policy by
 * more than the tolerance. */
nadir_status nadir_multistart_again(nadir_context *context, const nadir_problem *problem, double beta,
                                    const nadir_lagrangian *lagrangian, double tolerance,
                                    int64_t iterations_limit, nadir_attack *attack, bool *better);

#endif
