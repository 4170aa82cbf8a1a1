/* method.h: the searches of this folder as methods by name. */
#ifndef NADIR_BASELINE_METHOD_H
#define NADIR_BASELINE_METHOD_H

#include "adversary/method.h"
#include "baseline/search.h"

typedef struct nadir_searcher {
    nadir_method method;
    nadir_search *search;
    bool simplex; /* it can work on domain simplex; all can on free */
    bool support;
} nadir_searcher;

/* NULL: there is none of this name. */
const nadir_searcher *nadir_searcher_find(const char *name);

/* NADIR_ERROR_UNSUPPORTED unless the search is for this set. */
nadir_status nadir_searcher_check(nadir_context *context, const nadir_searcher *searcher,
                                  const nadir_uncertainty *set);

/* As a family: the kernel that the search named by settings->method finds within settings->iterations_limit
 * samples, between the bounds that the family of the set proves. */
nadir_family nadir_searcher_evaluate;

#endif
