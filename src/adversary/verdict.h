/*
 * verdict.h: the answer for one radius: the kernel that a search found, and the bounds that checks proved.
 */
#ifndef NADIR_ADVERSARY_VERDICT_H
#define NADIR_ADVERSARY_VERDICT_H

#include "adversary/attack.h"
#include "adversary/problem.h"

typedef enum nadir_proof { NADIR_PROOF_NONE, NADIR_PROOF_NUMERICAL, NADIR_PROOF_RIGOROUS } nadir_proof;

/* A struct of zeros holds nothing. Signs as in the problem. */
typedef struct nadir_verdict {
    bool refused; /* free domain, at or past breakdown: nothing below is set but `breakdown`, which is where
                     that happens, or a radius where it has happened */
    nadir_attack attack;
    double lower;                /* no kernel of the set has a smaller return; -infinity: nothing is known */
    double upper;                /* the return of the kernel found is not above */
    bool vague;                  /* of its own return nothing is known: `upper` is the nominal kernel's */
    nadir_proof proof;           /* of `lower` */
    const char *bound;           /* which proof */
    double breakdown;            /* proven, or exact: see nadir_robust; NaN: not of the free domain */
    const char *breakdown_proof; /* how it was made; NULL: not of the free domain */
    double kappa;                /* NaN: none */
    double scale;                /* what the width of the bounds is measured by; 0: the penalty */
    double *enclosing; /* [2 states] owned: c and k of the worst kernel of a larger L_2 ball; NULL: none */
    double *d_bar;     /* [states] owned: what no kernel's occupancy exceeds; NULL: none */
    double *steps;     /* [steps_count] owned: the derivation of `lower` (proof/derivation.h); NULL: none */
    int64_t steps_count;
    double minimum;     /* smallest entry of the kernel */
    double robust_time; /* seconds */
    double certify_time;
} nadir_verdict;

void nadir_verdict_clear(nadir_context *context, nadir_verdict *verdict);

/* Copies c and k: [states] each, into `enclosing`. */
nadir_status nadir_verdict_keep_pair(nadir_context *context, int64_t states, const double *c, const double *k,
                                     nadir_verdict *verdict);

/* What a family of sets does for all `count` radii, those of the set times factors[i]. verdicts: [count] of
 * zeros. With more than one radius kernels need not be kept. Of radii that are refused the context's error
 * tells. Used settings: method (NULL: auto), certify, tolerance, width, iterations_limit. */
typedef nadir_status nadir_family(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_verdict *verdicts);

nadir_family nadir_free_evaluate;        /* domain free */
nadir_family nadir_rectangular_evaluate; /* simplex and support, rectangular */
nadir_family nadir_valid_evaluate;       /* simplex and support, non-rectangular */

/* Domains simplex and support: the kernel of the attack lies in the set (NADIR_ERROR_VERIFICATION if not),
 * and `upper`, its return, is made anew from its rows and attack.v; attack.J is moved to where it can be;
 * `lower` is what the rewards alone say, which proves nothing that could be tight. */
nadir_status nadir_verdict_check_valid(nadir_context *context, const nadir_problem *problem, double factor,
                                       nadir_verdict *verdict);

/* `upper` becomes that of the nominal kernel, which lies in every set. */
nadir_status nadir_verdict_take_nominal(nadir_context *context, const nadir_problem *problem,
                                        nadir_verdict *verdict);

/* The least that the largest reward may be where proofs are made, unless it is 0: what is lost by underflow
 * is then lost in the rounding of it, too. */
#define NADIR_REWARD_LEAST 1e-300

/* Whether the rewards are smaller than that. What "rewards" and "bellman" say holds all the same. */
bool nadir_rewards_underflow(const nadir_context *context, const nadir_problem *problem);

/* The return of the attack is moved between bounds on the return of its kernel, where a search has it
 * outside. */
void nadir_verdict_place(nadir_verdict *verdict, double low, double high);

/* Another lower bound, if it is better. */
void nadir_verdict_take_bound(nadir_verdict *verdict, double lower, nadir_proof proof, const char *bound);

/* How wide bounds may be that are as close as the settings ask, relative to the penalty of the attack; and
 * whether these are. */
double nadir_verdict_allowed(const nadir_problem *problem, const nadir_robust_settings *settings,
                             const nadir_verdict *verdict);
bool nadir_verdict_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                            const nadir_verdict *verdict);

#endif
