/*
 * strategy.c: which proofs are tried, in which order; see strategy.h.
 *
 * One further bound has no row: what the rewards alone say comes with the check of the kernel
 * (nadir_evaluation_check_valid).
 */
#include "robust/strategy.h"

/* Cheap proofs come first. Where second order succeeds the Lagrangian bound is not better. The free domain
 * comes first of all, because its worst kernel may be that of the set; with a warm start, where the worst
 * kernel is nearly known, it comes only after norms have failed beyond hope.
 *
 * cost: instructions (callgrind) as a multiple of those of a cold search, which is what they follow. Measured
 * on the uniform policy: norms and the free domain on a random dense model of 40 states, radius 0.3; second
 * order and the Lagrangian bound on a garnet of 50 states with radius 2, domain simplex; large on a garnet of
 * 600 states, domain support; after all: in seconds, on a garnet of 1000 states, domain support; many radii: one of 10 on a garnet of 50 states, less the set-up, which costs 1. */
const nadir_proof_row nadir_proof_table[] = {
    {"free domain, cold", NADIR_STAGE_BEFORE, 0, 0.1, NADIR_PROVE_FREE},
    {"kappa of many radii", NADIR_STAGE_ROUGH_RADII | NADIR_STAGE_FINE,
     NADIR_NEEDS_KAPPA_PATH | NADIR_NEEDS_SECOND_ORDER, 0.1, NADIR_PROVE_KAPPA_PATH},
    {"kappa by norms", NADIR_STAGE_ROUGH_WARM | NADIR_STAGE_ROUGH_RADII | NADIR_STAGE_FINE,
     NADIR_NEEDS_AUTO | NADIR_NEEDS_SECOND_ORDER | NADIR_NEEDS_COLUMNS | NADIR_NEEDS_HOPE, 0.2,
     NADIR_PROVE_BY_NORMS},
    {"free domain, warm", NADIR_STAGE_ROUGH_WARM, NADIR_NEEDS_NO_HOPE, 0.1, NADIR_PROVE_FREE},
    {"second order", NADIR_STAGE_ROUGH_RADII | NADIR_STAGE_FINE,
     NADIR_NEEDS_SECOND_ORDER | NADIR_NEEDS_COLUMNS, 1.3, NADIR_PROVE_SECOND_ORDER},
    {"second order, large", NADIR_STAGE_FINE,
     NADIR_NEEDS_SECOND_ORDER | NADIR_NEEDS_LARGE | NADIR_NEEDS_LISTED_ROWS, 2, NADIR_PROVE_LARGE},
    {"second order, after all", NADIR_STAGE_FINE,
     NADIR_NEEDS_SECOND_ORDER | NADIR_NEEDS_LARGE | NADIR_NEEDS_FEW, 45, NADIR_PROVE_SECOND_ORDER},
    {"lagrangian", NADIR_STAGE_ROUGH_RADII | NADIR_STAGE_FINE, NADIR_NEEDS_ONE_PROCESS, 0.4,
     NADIR_PROVE_LAGRANGIAN},
    {"enclosing L_2 ball", NADIR_STAGE_FINE, NADIR_NEEDS_BELOW_2 | NADIR_NEEDS_ONE_PROCESS, 1,
     NADIR_PROVE_ENCLOSING},
    {"free domain, last", NADIR_STAGE_AFTER, 0, 0.1, NADIR_PROVE_FREE},
    {NULL, 0, 0, 0, NADIR_PROVE_FREE},
};

/* Radii of larger balls over that of the ball, falling. */
static const double radii_1[] = {100, 16, 4.05, 3.52, 3.06, 2.66, 2.31, 2.01, 1.75, 1.52, 1.32, 1.15};
static const double radii[] = {100, 2.86, 2.2, 1.69, 1.3};

/* Chosen on garnets of 20, 30 and 40 states, uniform and optimal policies, radii 0.4 to 3.2 (p = 2) and 0.5 to 8
 * (p = 1), against 40 random starts and a path down from 40 times the radius in steps of 15 %. Of 128 and 120
 * models searches from the nominal kernel and from Lagrangian bounds alone miss a worse kernel 9 and 27 times,
 * these starts 0 times and once. Evaluations take 2.2 and 3.9 times as long as without further starts. */
static const nadir_multistart_plan plan_1 = {.rungs = 12,
                                             .factors = radii_1,
                                             .again = 2,
                                             .wide = 5,
                                             .states = 20,
                                             .rows = 16,
                                             .steps = 20,
                                             .rough = 1e-3,
                                             .finer = 0.1,
                                             .finest = 1e-6,
                                             .reach = 10,
                                             .apart = 0.03};
static const nadir_multistart_plan plan = {.rungs = 5,
                                           .factors = radii,
                                           .again = 5,
                                           .states = 16,
                                           .rows = 0,
                                           .steps = 10,
                                           .rough = 1e-2,
                                           .finer = 0.1,
                                           .finest = 1e-6,
                                           .reach = 5,
                                           .apart = 0.01};
/* Larger models: the smallest of these radii, and rows that each cost 0.07 of an evaluation at 1000 states. */
static const nadir_multistart_plan plan_large = {.rungs = 2,
                                                 .factors = radii + 3,
                                                 .again = 2,
                                                 .wide = 5,
                                                 .states = 2,
                                                 .rows = 4,
                                                 .steps = 10,
                                                 .rough = 1e-2,
                                                 .finer = 0.1,
                                                 .finest = 1e-6,
                                                 .reach = 5,
                                                 .apart = 0.01};
/* Rewards on landing that are not separable, on models that are larger still: rows alone. Of 240 random models
 * of 8 to 40 states searches from no row, one, and 4 or more missed a worse kernel 4, 3 and 0 times (p = 1). */
static const nadir_multistart_plan plan_rows = {
    .rows = 4, .steps = 10, .rough = 1e-2, .finer = 0.1, .finest = 1e-6, .reach = 5, .apart = 0.01};

const nadir_multistart_plan *nadir_further_starts(const nadir_problem *problem)
{
    if (problem->model->exchange != NULL || problem->states > NADIR_FURTHER_STATES) {
        return problem->landing != 0 ? &plan_rows : NULL;
    }
    return problem->states > NADIR_FURTHER_STATES_ALL ? &plan_large
           : problem->uncertainty->p == 1             ? &plan_1
                                                      : &plan;
}
