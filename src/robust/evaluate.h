/*
 * evaluate.h: the evaluation of one radius, for every set and domain, and of many radii.
 *
 *     set up (robust.c) -> search for a kernel -> proofs in the order of strategy.c -> result (robust.c)
 */
#ifndef NADIR_ROBUST_EVALUATE_H
#define NADIR_ROBUST_EVALUATE_H

#include "core/context.h"
#include "proof/derivation.h"
#include "proof/second_order.h"
#include "robust/evaluation.h"
#include "search/frank_wolfe.h"

/* What an earlier search of a similar problem found: where the search for the worst kernel may start. */
typedef struct nadir_warm_start {
    const double *v, *d; /* [states] about its value and occupancy */
} nadir_warm_start;

/* One radius, that of the set times `factor`. evaluation: of zeros. warm_start: NULL: none; used by the
 * non-rectangular ball on the domains simplex and support. A radius past breakdown is refused; the context's
 * error tells why. Used settings: method (NULL: auto), certify, tolerance, width, iterations_limit. */
typedef nadir_status nadir_radius_evaluator(nadir_context *context, const nadir_problem *problem,
                                            const nadir_robust_settings *settings, double factor,
                                            const nadir_warm_start *warm_start, nadir_evaluation *evaluation);

/* The one for a set. */
nadir_radius_evaluator *nadir_evaluator_for(const nadir_uncertainty *set, double factor);

nadir_radius_evaluator nadir_evaluate_nominal; /* sets that hold the nominal kernel alone */
nadir_radius_evaluator nadir_evaluate_rectangular;
nadir_radius_evaluator nadir_evaluate_valid; /* non-rectangular ball on the domains simplex and support */

/* `count` radii, those of the set times factors[i]. evaluations: [count] of zeros. With more than one radius
 * kernels need not be kept. */
nadir_evaluator nadir_sweep;

/* A radius with its place among those of the caller. */
typedef struct nadir_placed {
    double factor;
    int64_t place;
} nadir_placed;

/* placed: [count], made here, in rising order. */
void nadir_radii_sort(int64_t count, const double *factors, nadir_placed *placed);

/* NADIR_ERROR_UNSUPPORTED unless the method is auto: the domains simplex and support have no other. */
nadir_status nadir_evaluate_check_method(nadir_context *context, const nadir_robust_settings *settings);

/* ------------------------------------------- non-rectangular ball on the domains simplex and support */

/* One radius. */
typedef struct nadir_valid_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    const nadir_warm_start *warm_start; /* NULL: none */
    double beta, factor;
    bool alone;           /* not one of many radii */
    int64_t *solves_left; /* processes that auto may still solve for boxes of all radii; NULL: alone */
    const struct nadir_valid_run *inside; /* whose L_2 ball this is; NULL: it is no enclosing ball */
    nadir_evaluation *evaluation;
    nadir_evaluation free;          /* of the free domain; refused: there is none, or it cannot help */
    bool free_is_known;             /* the free domain has been evaluated */
    nadir_kappa_path *kappa_path;   /* shared proof of many radii; NULL: none */
    nadir_frank_wolfe *frank_wolfe; /* whose last result the candidate is; NULL: none */

    /* The proofs of the candidate. */
    double wanted; /* a lower bound this good is enough */
    double until;  /* nadir_clock_seconds: strict proofs stop then; 0: not begun */
    nadir_certificate proof;
    nadir_derivation derivation; /* of zeros: not begun for this candidate */
} nadir_valid_run;

/* Owns nothing yet. */
nadir_valid_run nadir_valid_run_make(nadir_context *context, const nadir_problem *problem,
                                     const nadir_robust_settings *settings, double factor,
                                     nadir_evaluation *evaluation);
void nadir_valid_run_clear(nadir_valid_run *run);

/* Evaluates the free domain for `count` runs at once, in rising order of their radii. */
nadir_status nadir_valid_ask_free(int64_t count, nadir_valid_run *runs);

/* *done: the worst kernel of the free domain lies in this domain, and its evaluation is taken. */
nadir_status nadir_valid_take_free(nadir_valid_run *run, bool *done);

/* Frees the transposed copy of the nominal average on large models with iterative solves: searches have
 * operators of their own. */
void nadir_valid_drop_transpose(const nadir_valid_run *run);

/* The search from the nominal kernel. */
static inline nadir_status nadir_valid_search_cold(const nadir_valid_run *run, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const nadir_robust_settings *use = run->settings;
    NADIR_CHECK(nadir_frank_wolfe_run(run->context, run->problem, run->beta, NULL, use->tolerance,
                                      use->iterations_limit, candidate));
    NADIR_CHECK(nadir_multistart_missed(run->context, run->problem, run->beta, use->tolerance,
                                        use->iterations_limit, candidate));
cleanup:
    return status;
}

/* Whether a candidate is worse for the policy than another one by more than the tolerance. */
bool nadir_valid_is_worse(const nadir_valid_run *run, const nadir_candidate *candidate,
                          const nadir_candidate *than);

/* Replaces the candidate, which is handed back in *candidate, and proves bounds again. */
nadir_status nadir_valid_take_worse(nadir_valid_run *run, nadir_candidate *candidate);

/* Proves bounds and sets them in run->evaluation; searches again where a failed proof shows a better start.
 */
nadir_status nadir_valid_certify(nadir_valid_run *run);

/* The proofs alone, of this candidate. wanted: a lower bound this good is enough. certificate: made here. */
nadir_status nadir_valid_prove(nadir_context *context, const nadir_problem *problem, double beta,
                               const nadir_candidate *candidate, nadir_certify effort, double wanted,
                               nadir_certificate *certificate);

/* ------------------------------------------------------------------------------------ free domain */

/* One radius, or many in rising order. Those at or past breakdown are refused. */
nadir_evaluator nadir_free_evaluate;

#endif
