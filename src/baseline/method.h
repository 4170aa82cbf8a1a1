/* method.h: the searches of this folder by name. */
#ifndef NADIR_BASELINE_METHOD_H
#define NADIR_BASELINE_METHOD_H

#include "adversary/verdict.h"
#include "baseline/search.h"

typedef struct nadir_method {
    const char *name;
    nadir_search *search; /* NULL: one of src/adversary */
    bool simplex;         /* it can work on domain simplex; all can on free */
    bool support;
    const char *summary;
} nadir_method;

/* NULL: there is none of this name. */
const nadir_method *nadir_method_find(const char *name);

/* NADIR_ERROR_UNSUPPORTED unless the method is for this set. */
nadir_status nadir_method_check(nadir_context *context, const nadir_method *method,
                                const nadir_uncertainty *set);

/* As a family: the kernel that settings->method, one of this folder, finds within settings->iterations_limit
 * samples, between the bounds that the set's own family proves. */
nadir_family nadir_method_evaluate;

#endif
