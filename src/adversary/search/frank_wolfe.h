/*
 * frank_wolfe.h: the worst kernel of the non-rectangular ball on the domains simplex and support, as far as a
 * search can tell: conditional gradient with exact linear steps.
 */
#ifndef NADIR_SEARCH_FRANK_WOLFE_H
#define NADIR_SEARCH_FRANK_WOLFE_H

#include "adversary/attack.h"
#include "adversary/problem.h"

/* From `start`, a kernel of the set (NULL: the nominal one; not kept), downhill until the stationarity gap is
 * below tolerance times the penalty. attack: of zeros; filled with kernel, J, v, tau, gap and the rest but c,
 * k, lambda. A limit reached is not an error: `converged` tells. */
nadir_status nadir_frank_wolfe_run(nadir_context *context, const nadir_problem *problem, double beta,
                                   const nadir_kernel *start, double tolerance, int64_t iterations_limit,
                                   nadir_attack *attack);

/* Descents one after another, each of which profits from what the last one has left behind. */
typedef struct nadir_frank_wolfe nadir_frank_wolfe;
nadir_status nadir_frank_wolfe_create(nadir_context *context, const nadir_problem *problem,
                                      nadir_frank_wolfe **frank_wolfe);
void nadir_frank_wolfe_free(nadir_context *context, nadir_frank_wolfe *frank_wolfe);

/* Exchanges the kernels that the descent writes over, none at first, for others of the model: [2], or NULL
 * each. */
void nadir_frank_wolfe_exchange_kernels(nadir_frank_wolfe *frank_wolfe, nadir_kernel **spare);

/* As nadir_frank_wolfe_run, from the answer of the rows to v and d, [states] each: about what value and occupancy
 * will be. */
nadir_status nadir_frank_wolfe_from(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                    const double *v, const double *d, double tolerance,
                                    int64_t iterations_limit, nadir_attack *attack);

/*
 * The answer of the rows to v and d, [states] each, and nothing further: kernel, v, d and J of it, of which
 * the last three are as near as the next answer wants them. p = 2. The gap is a bound: with G and G' the
 * weights times values before and after, each row less its mean,
 *
 *     gap <= sum over rows of alpha^2 |G'_r - G_r|_2^2 / (4 tau),
 *
 * since the answer minimises <G, X> + tau |X - Phat|^2, which is 2 tau-strongly convex, and has |X - Phat| =
 * beta. Infinite where tau = 0.
 */
nadir_status nadir_frank_wolfe_inexact(nadir_context *context, nadir_frank_wolfe *frank_wolfe, double beta,
                                       const double *v, const double *d, nadir_attack *attack);

/*
 * Full steps from an attack until it is stationary to first order, as proofs want it: the sum over states of
 *
 *     e_s = sum over a of [g_sa . P_sa - min over allowed successors of g_sa],    g = gamma d pi v + 2 tau
 * Delta / alpha^2
 *
 * at most `wanted`, or three steps did not make it smaller; rows of states that are not visited become
 * nominal (p = 2; nothing is done for other norms). The attack becomes the best of them in this sense.
 */
nadir_status nadir_frank_wolfe_polish(nadir_context *context, const nadir_problem *problem, double beta,
                                      double wanted, nadir_attack *attack);

/* The same with the descent that has made the attack, and nothing since; no step where the attack is as
 * stationary already. */
nadir_status nadir_frank_wolfe_polish_on(nadir_context *context, nadir_frank_wolfe *frank_wolfe,
                                         double wanted, nadir_attack *attack);

#endif
