/* question.h: the problem of one solver and one ball, with the arrays that are its own. */
#ifndef NADIR_ADVERSARY_QUESTION_H
#define NADIR_ADVERSARY_QUESTION_H

#include "adversary/problem.h"
#include "nominal/solver.h"

/* A struct of zeros holds nothing. The problem points into the struct: it must stay where it is. */
typedef struct nadir_question {
    nadir_uncertainty uncertainty;
    nadir_problem problem;
    double *owned; /* R, and for the best case rewards and v negated */
} nadir_question;

/* Solves for the nominal value if need be. The solver must outlive the question. */
nadir_status nadir_question_pose(nadir_context *context, nadir_solver *solver, const nadir_ball *ball,
                                 bool optimistic, nadir_question *asked);
void nadir_question_clear(nadir_context *context, nadir_question *asked);

#endif
