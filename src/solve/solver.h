/* solver.h: the inside of a solver, for those who go on from the nominal solution. */
#ifndef NADIR_SOLVE_SOLVER_H
#define NADIR_SOLVE_SOLVER_H

#include "solve/value.h"

struct nadir_solver {
    nadir_memory *memory;
    nadir_model *model;
    nadir_kernel *kernel;
    nadir_policy *policy;
    nadir_occupancy *occupancy;
    double factor_seconds;
    nadir_value value; /* v NULL: not solved yet */
    nadir_nominal nominal;
};

/* The caller's settings, NULL: none, or NADIR_ERROR_ARGUMENT. */
nadir_status nadir_solver_settings_take(nadir_context *context, const nadir_solver_settings *settings,
                                        nadir_solver_settings *taken);

/* As nadir_solver_create; *occupancy, unless it is NULL, is the operator of the policy under the nominal
 * kernel, and taken over: it becomes NULL. */
nadir_status nadir_solver_create_from(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                      const nadir_solver_settings *settings, nadir_occupancy **occupancy,
                                      nadir_solver **solver);

/* Makes solver->value, unless it is there; no check of its bounds against the rows. */
nadir_status nadir_solver_solve(nadir_context *context, nadir_solver *solver);

#endif
