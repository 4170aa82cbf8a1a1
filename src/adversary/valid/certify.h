/*
 * certify.h: what is proven of the worst kernel of one radius, domains simplex and support, and what the free
 * domain says of it.
 */
#ifndef NADIR_VALID_CERTIFY_H
#define NADIR_VALID_CERTIFY_H

#include "adversary/proof/kappa_path.h"
#include "adversary/search/frank_wolfe.h"
#include "adversary/valid/prove.h"
#include "adversary/verdict.h"

/* One radius. Plain data: nothing is owned. */
typedef struct nadir_valid_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    double beta, factor;
    nadir_verdict *verdict;
    nadir_kappa_path *kappa_path;   /* of proofs; NULL: none */
    nadir_frank_wolfe *frank_wolfe; /* that has just made the attack; NULL: none */
    bool postponed;                 /* the free domain is asked only if nothing else proves the answer */
    double polished; /* share of the width that the attack lacks of stationarity, at most; 0: not known */
} nadir_valid_run;

/* Verdicts on the free domain, refused where there is nothing to learn from it. */
nadir_status nadir_valid_ask_free(nadir_context *context, const nadir_problem *own,
                                  const nadir_robust_settings *own_settings, int64_t count,
                                  const double *factors, nadir_verdict *verdicts);

/* *done: what the free domain says is the answer here too, and has become the verdict. */
nadir_status nadir_valid_take_free(nadir_valid_run *run, nadir_verdict *verdict, bool *done);

/* Bounds around the kernel that a search has found. free: the verdict of the free domain; asked for here, if
 * need be, where that was postponed. */
nadir_status nadir_valid_certify(nadir_valid_run *run, nadir_verdict *free);

#endif
