/*
 * minmax.h: both sides of max over policies of min over the kernels P of the set of the return J.
 *
 * A response is a policy with the worst kernel that was found for it, and under that kernel the return J,
 * value v, occupancy d and Q(s, a) = R(s, a) + gamma P(.|s, a) . v, so that (Danskin)
 *
 *     dJ_U / dpi(a|s) = d(s) Q(s, a).
 *
 * A dual bound is the optimum V*(P) of one kernel P >= 0 of the set: no policy guarantees more. The set is
 * convex, so mixtures of its kernels belong to it.
 */
#ifndef NADIR_POLICY_MINMAX_H
#define NADIR_POLICY_MINMAX_H

#include "proof/certificate.h"
#include "robust/evaluation.h"

/* ---------------------------------------------------------------------------------------- responses */

/* A struct of zeros holds nothing. `setup` points into the struct: do not move it. */
typedef struct nadir_response {
    nadir_policy *policy; /* owned, like all that follows */
    nadir_solver *solver;
    nadir_setup setup;
    nadir_evaluation evaluation; /* its candidate; no proof */
    double *v, *d;               /* [states] under the kernel found */
    double *q;                   /* [rows] */
    double J;
    double penalty; /* nominal return less J; to first order for an inexact response */
    double error;   /* estimate: the worst return is at least J - error */
} nadir_response;

/* Shared by the inexact responses of one optimisation; see response.c. */
typedef struct nadir_inexact_response nadir_inexact_response;

/* Shared by all responses of one optimisation. */
typedef struct nadir_minmax {
    nadir_model *model;
    const nadir_ball *ball;
    const char *backend;
    int64_t iterations_limit;        /* of each search */
    int64_t evaluations;             /* responses so far */
    nadir_kernel *spare[2];          /* owned: kernels that the next response may overwrite, or NULL */
    nadir_inexact_response *inexact; /* owned; NULL before nadir_minmax_prepare */
    const nadir_policy *known;       /* the policy of `occupancy` */
    nadir_occupancy *occupancy;      /* owned until a response to `known` takes it; or NULL */
} nadir_minmax;

/*
 * The worst kernel of a policy (retained), to about `tolerance` times the penalty. warm_v, warm_d: [states]
 * value and occupancy of the response to a similar policy, a warm start where the search supports one; or
 * NULL. response: of zeros. NADIR_ERROR_ILL_POSED: free domain, at or past breakdown;
 * without a discount, where the policy never ends or some kernel of the set may not.
 */
nadir_status nadir_response_find(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                 const double *warm_v, const double *warm_d, double tolerance,
                                 nadir_response *response);
/* Whether inexact responses to similar policies are possible. */
bool nadir_response_allows_inexact(const nadir_response *response);
/* Prepares inexact responses with the solver of `first`, which is taken. Does nothing the second time. */
nadir_status nadir_minmax_prepare(nadir_context *context, nadir_minmax *minmax, nadir_response *first);
/* The operator that preconditions the solves of inexact responses; NULL before nadir_minmax_prepare. */
nadir_occupancy *nadir_minmax_base(const nadir_minmax *minmax);
/*
 * One Frank-Wolfe step from warm_v and warm_d, whose linear systems are solved by a few corrections. `solver`
 * and the nominal return are not set; `error` is a bound as far as v and d are exact.
 */
nadir_status nadir_response_find_inexact(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                         const double *warm_v, const double *warm_d,
                                         nadir_response *response);
void nadir_response_clear(nadir_context *context, nadir_response *response);
/* The same; its kernel becomes a spare one. */
void nadir_response_recycle(nadir_context *context, nadir_minmax *minmax, nadir_response *response);
void nadir_minmax_clear(nadir_context *context, nadir_minmax *minmax);

/* sum over s of max_a d(s) (Q(s, a) - v(s)): zero exactly where no change of the policy helps to first order.
 * On the free domain occupancies may be negative. */
double nadir_response_advantage(const nadir_context *context, const nadir_response *response);

/* --------------------------------------------------------------------------------------- dual bounds */

/* How many kernels are kept for mixtures. */
enum { NADIR_DUAL_BOUND_KERNELS = 6 };

/* Start: zeros, with model, backend and tolerance set and upper at infinity. */
typedef struct nadir_dual_bound {
    nadir_model *model;
    const char *backend;
    nadir_occupancy *base; /* preconditioner: of a similar kernel and policy; not owned; or NULL */
    double tolerance;      /* of optima, relative */
    double upper;          /* mu . V*(P), rounding included; valid if `kernel` is in the set */
    nadir_kernel *kernel;  /* owned: P; NULL: none yet */
    double *value;         /* [states] V*(P) */
    int64_t mixed;         /* kernels that P is a mixture of */
    nadir_kernel *kept[NADIR_DUAL_BOUND_KERNELS]; /* owned: the last kernels tried, a ring buffer */
    int64_t tried;
} nadir_dual_bound;

void nadir_dual_bound_clear(nadir_context *context, nadir_dual_bound *dual_bound);

/* Tries a kernel, unless it has negative entries, and takes it: *kernel becomes NULL. v: [states] an estimate
 * of its V*; q: [rows] upper bounds on Q there, see nadir_optimum_warm_started, or NULL. */
nadir_status nadir_dual_bound_add_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                         nadir_kernel **kernel, const double *v, const double *q);

/* An upper bound on mu . V*(P) of a kernel; infinity where it has negative entries. value: [states] in: an
 * estimate of V*, out: V*; q: as above. */
nadir_status nadir_dual_bound_of_kernel(nadir_context *context, const nadir_dual_bound *dual_bound,
                                        const nadir_kernel *kernel, const double *q, double *value,
                                        double *upper);

/* Mixes the kernels that were tried, while a round lowers the bound by more than `worth`. */
nadir_status nadir_dual_bound_mix_kernels(nadir_context *context, nadir_dual_bound *dual_bound, double worth);

/* Checks by its rows alone that the kernel of the bound is in the set; if not, the bound becomes infinite. */
nadir_status nadir_dual_bound_check_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                           const nadir_uncertainty *uncertainty);

#endif
