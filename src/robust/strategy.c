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
    {"occupancies", NADIR_STAGE_BOXES, NADIR_NEEDS_PRICE | NADIR_NEEDS_ONE_PROCESS, 100,
     NADIR_PROVE_OCCUPANCIES},
    {"enclosing L_2 ball", NADIR_STAGE_ENCLOSE, NADIR_NEEDS_BELOW_2 | NADIR_NEEDS_ONE_PROCESS, 1,
     NADIR_PROVE_ENCLOSING},
    {"free domain, last", NADIR_STAGE_AFTER, 0, 0.1, NADIR_PROVE_FREE},
    {NULL, 0, 0, 0, NADIR_PROVE_FREE},
};
