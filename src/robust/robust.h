/*
 * robust.h: robust evaluation from the settings to the result, and the methods by name.
 *
 * The library's own methods are listed in robust.c. Further methods come from a table that is linked beside
 * src/. The library calls them through it, and does not know what they do.
 */
#ifndef NADIR_ROBUST_ROBUST_H
#define NADIR_ROBUST_ROBUST_H

#include "robust/evaluate.h"

typedef struct nadir_method {
    const char *name;
    const char *summary;       /* what it does, in half a line */
    nadir_evaluator *evaluate; /* NULL: one of the library's own, which evaluations know by name */
} nadir_method;

/* The further methods, in the order of nadir_method_name after the library's own; NULL ends the table. It is
 * the only symbol that src/ uses and does not define. */
extern const nadir_method *const nadir_further_methods[];

/* NULL: there is none of this name. */
const nadir_method *nadir_method_find(const char *name);

/* The settings to use; *evaluator: of a further method that they name, or NULL. NADIR_ERROR_ARGUMENT. */
nadir_status nadir_robust_settle(nadir_context *context, const nadir_robust_settings *settings,
                                 nadir_robust_settings *use, nadir_evaluator **evaluator);

/* nadir_solver_robust from a warm start, NULL: none. Further methods know nothing of it. */
nadir_status nadir_robust_warm(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                               const nadir_robust_settings *settings, const nadir_warm_start *warm_start,
                               nadir_robust *result, nadir_worst **worst);

/* NADIR_ERROR_UNSUPPORTED where the model is spread over processes and nothing is known of such sets yet. */
nadir_status nadir_robust_check_distributed(nadir_context *context, const nadir_model *model,
                                            const nadir_uncertainty *set);

#endif
