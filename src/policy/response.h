/*
 * response.h: a policy and what the adversary makes of it: the worst kernel that was found, and under it the
 * return J, value v, occupancy d and Q(s, a) = R(s, a) + gamma P(.|s, a) . v, so that (Danskin)
 *
 *     dJ_U / dpi(a|s) = d(s) Q(s, a).
 */
#ifndef NADIR_POLICY_RESPONSE_H
#define NADIR_POLICY_RESPONSE_H

#include "proof/setup.h"
#include "robust/evaluation.h"

/* A struct of zeros holds nothing. The question points into it: it must stay where it is. */
typedef struct nadir_response {
    nadir_policy *policy; /* owned, and all that follows */
    nadir_solver *solver;
    nadir_setup asked;
    nadir_evaluation evaluation; /* the attack; no proof */
    double *v, *d;               /* [states] under the kernel found */
    double *q;                   /* [rows] */
    double J;
    double lost;  /* what the adversary takes, nominal return less J; of glances to first order */
    double error; /* what the worst return may lie below J, as far as the search can tell */
} nadir_response;

/* What responses at a glance share; see response_inexact.c. */
typedef struct nadir_inexact_response nadir_inexact_response;

/* What all responses of one optimisation share. */
typedef struct nadir_minmax {
    nadir_model *model;
    const nadir_ball *ball;
    const char *backend;
    int64_t iterations_limit;        /* of each search */
    int64_t evaluations;             /* counts */
    nadir_kernel *spare[2];          /* owned: of responses that are gone, to be written over; NULL: none */
    nadir_inexact_response *inexact; /* owned; NULL: none yet */
    const nadir_policy *known;       /* a policy whose operator is */
    nadir_occupancy *occupancy;      /* this one: owned, for the first who asks; NULL: none */
} nadir_minmax;

/*
 * The worst kernel of a policy, which is retained, whose return is off by `tolerance` of the penalty or
 * so. near_v, near_d: [states] value and occupancy of the response to a similar policy, from which the search
 * starts where it can; NULL: none. response: of zeros. NADIR_ERROR_ILL_POSED: free domain, at or past
 * breakdown.
 */
nadir_status nadir_response_find(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                 const double *warm_v, const double *warm_d, double tolerance,
                                 nadir_response *response);
/* The same from nothing. any: where the policy breaks down (free domain), that which chooses at random, and
 * often does not, will do. */
nadir_status nadir_response_find_first(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                       bool any, double tolerance, nadir_response *response);
/* Whether policies near that of a response can be responded to at a glance. */
bool nadir_response_allows_inexact(const nadir_response *response);
/* Makes the duel ready for that, from any response that can be glanced from; what it is matters to the work
 * alone. Nothing is done a second time. */
nadir_status nadir_minmax_prepare(nadir_context *context, nadir_minmax *minmax, nadir_response *first);
/* The operator of that response, through which others are solved; NULL: the duel is not ready. */
nadir_occupancy *nadir_minmax_base(const nadir_minmax *minmax);
/* The search that glances are steps of; NULL likewise. */
const struct nadir_frank_wolfe *nadir_minmax_frank_wolfe(const nadir_minmax *minmax);
/*
 * The response in one step from near_v and near_d, and roughly: linear systems are solved by a few
 * corrections. There is no solver, and no nominal return; the error is a bound as far as v and d are known.
 * before: the response that v and d are of, which saves work: q of rows that are not chosen, and below all
 * that are, may be too high then; NULL: every row is measured.
 */
nadir_status nadir_response_find_inexact(nadir_context *context, nadir_minmax *minmax, nadir_policy *policy,
                                         const double *warm_v, const double *warm_d,
                                         const nadir_response *before, nadir_response *response);
void nadir_response_clear(nadir_context *context, nadir_response *response);
/* The same; the duel keeps what the next response can use. */
void nadir_response_recycle(nadir_context *context, nadir_minmax *minmax, nadir_response *response);
void nadir_minmax_clear(nadir_context *context, nadir_minmax *minmax);
void nadir_inexact_response_free(nadir_context *context, nadir_inexact_response *inexact);

/* sum over s of max_a d(s) (Q(s, a) - v(s)): zero exactly where no change of the policy helps at first order.
 * On the free domain occupancies may be negative. */
double nadir_response_advantage(const nadir_context *context, const nadir_response *response);

#endif
