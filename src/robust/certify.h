/*
 * certify.h: bounds around the worst kernel that a search found for one radius, domains simplex and support.
 */
#ifndef NADIR_ROBUST_CERTIFY_H
#define NADIR_ROBUST_CERTIFY_H

#include "proof/second_order.h"
#include "robust/evaluate.h"
#include "robust/evaluation.h"
#include "search/frank_wolfe.h"

/* One radius. Plain data: nothing is owned. */
typedef struct nadir_valid_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    double beta, factor;
    nadir_evaluation *evaluation;
    nadir_kappa_path *kappa_path;   /* shared proofs of many radii; NULL: none */
    nadir_frank_wolfe *frank_wolfe; /* whose last result the attack is; NULL: none */
    bool free_is_postponed;         /* the free domain is evaluated only if no other proof certifies */
    double stationary_to;           /* of the attack, as a share of the width; 0: not known */
} nadir_valid_run;

/* Evaluates the free domain for all radii; verdicts[count] are refused where that cannot help. */
nadir_status nadir_valid_ask_free(nadir_context *context, const nadir_problem *own,
                                  const nadir_robust_settings *own_settings, int64_t count,
                                  const double *factors, nadir_evaluation *evaluations);

/* *done: the worst kernel of the free domain lies in this domain, and its verdict is taken. */
nadir_status nadir_valid_take_free(nadir_valid_run *run, nadir_evaluation *evaluation, bool *done);

/* Proves bounds and sets them in run->verdict; searches again where a failed proof shows a better start.
 * free: the verdict of the free domain, evaluated here, if need be, where that was postponed. */
nadir_status nadir_valid_certify(nadir_valid_run *run, nadir_evaluation *free);

#endif
