/*
 * evaluation.h: the answer for one radius: the kernel that a search found, and the bounds that checks proved;
 * and the worst kernel as the user holds it.
 */
#ifndef NADIR_ROBUST_EVALUATION_H
#define NADIR_ROBUST_EVALUATION_H

#include "proof/bellman_bound.h"
#include "proof/breakdown.h"
#include "proof/certificate.h"
#include "sets/uncertainty.h"
#include "solve/value.h"

/* A struct of zeros holds nothing. Signs as in the problem. */
typedef struct nadir_evaluation {
    bool refused; /* free domain, at or past breakdown: only `breakdown` is set, to the breakdown radius or to
                     one that is at or past it */
    nadir_candidate candidate;
    double lower;      /* no kernel of the set has a smaller return; -infinity: nothing is known */
    double upper;      /* the return of the kernel found is not above */
    bool vague;        /* of its own return nothing is known: `upper` is the nominal kernel's */
    nadir_proof proof; /* of `lower` */
    nadir_bound bound; /* which proof */
    double breakdown;  /* proven, or exact: see nadir_robust; NaN: not of the free domain */
    nadir_breakdown_proof breakdown_proof; /* how it was made; NONE: not of the free domain */
    double kappa;                          /* NaN: none */
    double lasts;      /* without a discount: no kernel of the set lasts longer; infinity: not known */
    double *enclosing; /* [2 states] owned: c and k of the worst kernel of a larger L_2 ball; NULL: none */
    double *d_bar;     /* [states] owned: what no kernel's occupancy exceeds; NULL: none */
    double *steps;     /* [steps_count] owned: the derivation of `lower` (proof/derivation.h); NULL: none */
    int64_t steps_count;
    double minimum;     /* smallest entry of the kernel */
    bool time_ran_out;  /* proofs might have come further */
    bool finished;      /* all of it is there: it can be reported where others were interrupted */
    double robust_time; /* seconds */
    double certify_time;
} nadir_evaluation;

void nadir_evaluation_clear(nadir_context *context, nadir_evaluation *evaluation);
/* evaluations: [count], or NULL. */
void nadir_evaluations_clear(nadir_context *context, int64_t count, nadir_evaluation *evaluations);

/* Copies c and k: [states] each, into `enclosing`. */
nadir_status nadir_evaluation_keep_pair(nadir_context *context, int64_t states, const double *c,
                                        const double *k, nadir_evaluation *evaluation);

/* Evaluates `count` radii, those of the set times factors[i]. evaluations: [count] of zeros. */
typedef nadir_status nadir_evaluator(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, int64_t count,
                                     const double *factors, nadir_evaluation *evaluations);

/* Domains simplex and support: checks that the candidate lies in the set (NADIR_ERROR_VERIFICATION if not).
 * `upper` is computed from its rows and candidate.v, and candidate.J is clamped to what that allows.
 * `lower` is what the rewards alone say, which proves nothing that could be tight. */
nadir_status nadir_evaluation_check_valid(nadir_context *context, const nadir_problem *problem, double factor,
                                          nadir_evaluation *evaluation);

/* Bounds on the return of the nominal kernel, which lies in every set; signs as in the model. */
nadir_status nadir_evaluation_check_nominal(nadir_context *context, const nadir_problem *problem,
                                            nadir_value_check *check);

/* "none", "numerical" or "rigorous". */
const char *nadir_proof_name(nadir_proof proof);

/* Takes kappa, d_bar and the steps of a certificate, in place of those at hand. */
void nadir_evaluation_take_certificate(nadir_context *context, nadir_certificate *certificate,
                                       nadir_evaluation *evaluation);

/* Clamps the return that the search has found to bounds on the return of its kernel. */
void nadir_evaluation_clamp_return(nadir_evaluation *evaluation, double low, double high);

/* Another lower bound, if it is better. */
void nadir_evaluation_take_bound(nadir_evaluation *evaluation, double lower, nadir_proof proof,
                                 nadir_bound bound);

/* What the kernel found costs: the difference of both returns or, where that has lost digits, lambda of the candidate,
 * if it is the same but for them. */
double nadir_evaluation_penalty(const nadir_problem *problem, const nadir_evaluation *evaluation);

/* Whether bounds this far apart are within settings->width of the penalty of the candidate. A penalty that is lost in
 * the rounding of the return, or in `slack`, is as good as none: the bounds are then as close as that rounding
 * allows, and within settings->width of what is at stake. */
bool nadir_evaluation_is_narrow(const nadir_problem *problem, const nadir_robust_settings *settings,
                                const nadir_evaluation *evaluation, double slack, double width);
/* Whether the bounds of the evaluation are. */
bool nadir_evaluation_is_close(const nadir_problem *problem, const nadir_robust_settings *settings,
                               const nadir_evaluation *evaluation);

/* ----------------------------------------------------------------------------------- worst kernel */

/* The worst kernel as the user holds it: the kernel, and the witness of its bounds. */
struct nadir_worst {
    nadir_memory *memory;
    nadir_model *model;
    nadir_policy *policy;
    nadir_evaluation evaluation; /* kernel and vectors */
    nadir_uncertainty uncertainty;
    double *d; /* [states] occupancy under the nominal kernel */
    nadir_policy
        *other; /* of the kernel of a difference: the policy that the first is compared with; else NULL */
    double *other_d;     /* and its occupancy */
    nadir_robust result; /* size 0: there is none */
    bool optimistic;
    char model_file_sha256[65]; /* "": unsaid */
    char policy_file_sha256[65];
    char kernel_sha256[65]; /* of the kernel file */
};

/* Takes the kernel and the vectors out of the verdict. result: what was reported; NULL: the kernel is that of
 * a difference, which has no witness. */
nadir_status nadir_worst_make(nadir_context *context, const nadir_problem *problem,
                              const nadir_robust *result, nadir_evaluation *evaluation, nadir_worst **worst);

/* What is to be said of the kernel, and what proves its bounds; both point into `worst`. A kernel of a
 * difference has no witness: NADIR_ERROR_UNSUPPORTED. */
nadir_status nadir_worst_parameters(nadir_context *context, const nadir_worst *worst,
                                    nadir_kernel_parameters *parameters);
nadir_status nadir_worst_witness(nadir_context *context, const nadir_worst *worst, nadir_witness *witness);

/* As long as it lives. */
const nadir_kernel *nadir_worst_kernel(const nadir_worst *worst);

#endif
