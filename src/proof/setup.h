/* setup.h: the problem of one solver and one ball, with the arrays that are its own. */
#ifndef NADIR_PROOF_SETUP_H
#define NADIR_PROOF_SETUP_H

#include "sets/uncertainty.h"
#include "solve/solver.h"

/* A struct of zeros holds nothing. The problem points into the struct: it must stay where it is. */
typedef struct nadir_setup {
    nadir_uncertainty uncertainty;
    nadir_problem problem;
    double *owned; /* R, and for the best case rewards and v negated */
} nadir_setup;

/* Solves for the nominal value if need be. The solver must outlive the question. */
nadir_status nadir_setup_make(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                              bool optimistic, nadir_setup *asked);
void nadir_setup_clear(nadir_context *context, nadir_setup *asked);

#endif
