/*
 * strategy.h: in which order proofs are tried, what each needs and costs, and every tuned constant of robust
 * evaluation.
 *
 * None of this has to be right for a bound to be true: src/proof proves, this file decides what it is asked.
 * "By trial" below means: chosen by trial on garnets and random models; no measurement was kept.
 */
#ifndef NADIR_ROBUST_STRATEGY_H
#define NADIR_ROBUST_STRATEGY_H

#include "robust/evaluate.h"

#include <math.h>

/* ------------------------------------------------------------------- domains simplex and support */

/* Up to this many states columns of D are computed at once, unless certify is strict, which has no limit. On
 * a garnet of 500 states the proof takes 6.7 times as long as the search (docs/benchmarks.md). */
#define NADIR_PROOF_STATES 500
/* Up to this many for one radius where Lanczos iterations do not certify. On garnets of 1000 states, one thread, proofs
 * take 0.4 to 3.9 s of processor time on support and 2.5 to 6 s on simplex, up to 10 s where they fail; the search takes
 * 0.02 s. They carry 5.6 and 3.5 times farther on support than Lanczos iterations do, optimal and uniform policy. On
 * support they take up to 13 s at 2000 states. */
#define NADIR_PROOF_STATES_AFTER 1000

/* How often a candidate is proven: each failure may show a better start for the search. By trial. */
#define NADIR_PROOF_ATTEMPTS 3

/* Evaluations of the Lagrangian bound in the search for its best tau. By trial. */
#define NADIR_PROOF_TAU_EVALUATIONS 12

/* Seconds that strict proofs of one worst case may take unless told otherwise, and processes solved
 * (search/two_sided_search.h) where no time is given: by trial. */
#define NADIR_PROOF_SECONDS 10
#define NADIR_PROOF_SOLVES  3000
/* Auto solves at most TIMES as many for one worst case as the searches had kernels; or FEW, and no more than answer
 * this many entries of rows, if that is more; and none where these do not suffice for a round, so many for each state. FrozenLake
 * (16 states, 4 actions) takes 1000 at radius 0.1 and discount 0.99, 0.2 s of processor time. Many radii share MANY times
 * FEW, or the entries; one of them may take RADIUS times that. */
#define NADIR_PROOF_TIMES        20
#define NADIR_PROOF_FEW          1200
#define NADIR_PROOF_ENTRIES      1.25e6
#define NADIR_PROOF_SOLVES_STATE 4
#define NADIR_PROOF_MANY         10
#define NADIR_PROOF_RADIUS       3
/* The L_2 ball that holds a ball of p < 2 may take this much more than it may alone: its search ends elsewhere by rounding, and its
 * bound is not to be the worse one. On garnets of 14 states 1e-5 of the penalty are lost without. */
#define NADIR_PROOF_INSIDE 1.25
static inline double nadir_proof_few(const nadir_problem *problem)
{
    return fmin(NADIR_PROOF_FEW, NADIR_PROOF_ENTRIES / ((double)problem->rows * (double)problem->states));
}
/* Sweeps of small models evaluate radii alone that are not certified, until so many in a row fail. By trial. */
#define NADIR_SWEEP_FAILURES 2
/* And it does not go on where the bound by both ends of ranges has a gap above this share of the penalty at first.
 * FrozenLake has 0.23 and 0.39 (discount 0.99 and 0.95), garnets past their largest certified radius 0.8 and more. */
#define NADIR_PROOF_NEAR 0.5

/* Stationarity of the candidate before proofs: the sum over rows of what each lacks of optimality, as a share
 * of the width. With 1e-3 bounds agree to 1e-10 whichever backend solves (tests/unit/test_agreement.c);
 * 0.15 suffices for most proofs that many radii share (by trial). */
#define NADIR_STATIONARY         1e-3
#define NADIR_STATIONARY_ROUGHLY 0.15
/* The least of it that iterative solves can show, as a share of the return: about 1000 roundings. */
#define NADIR_STATIONARY_VISIBLE 2e-13
/* Iterative solves on more states than this: a proof that fails costs more than a finer polish at once. By
 * trial. */
#define NADIR_POLISH_AT_ONCE_STATES 20000

/* Further starts where no proof succeeds, or none is asked for, have a limit of work (search/multistart.c), but
 * up to 24 kernels (90 on up to 200 states) are held at once: models of one process with up to this many states. */
#define NADIR_FURTHER_STATES 5000
static inline bool nadir_has_further_starts(const nadir_problem *problem)
{
    return problem->model->exchange == NULL && problem->states <= NADIR_FURTHER_STATES;
}

/* ------------------------------------------------------------------------------------ many radii */

/* So many radii are worth the set-up of a shared proof, the columns of the nominal kernel: by trial. */
#define NADIR_KAPPA_PATH_RADII 4
/* A path is followed for so many radii before it is compared with a cold start: by trial. */
#define NADIR_PATH_LENGTH 50
/* A search along the path that takes more steps than this has met a kink, and is compared at once. A straight
 * path takes one step to each radius (tests/unit/test_many_radii.c). */
#define NADIR_PATH_STEPS 3

/* ------------------------------------------------------------------------------------ free domain */

/* The proven breakdown radius depends a little on the backend, more so where solves are iterations. Reports
 * give this share of it, which every backend can prove: by trial; of 5000 small models one lost 0.7 % where solves are
 * iterations (tests/unit/test_trust_attack.c, seed 77701). */
#define NADIR_BREAKDOWN_SHOWN          (1 - 1e-7)
#define NADIR_BREAKDOWN_SHOWN_ITERATED 0.99

/* A return that is known less well than to this share of the nominal one is solved for anew: what
 * verification does not see (proof/verify.c). */
#define NADIR_RETURN_KNOWN 1e-9

/* ---------------------------------------------------------------------------------------- results */

/* Room below reported lower bounds: at most this share of the penalty, and that of the gap. Of 5000 nearly
 * deterministic models proofs by another backend differ by up to 12 % of gaps below 1e-5 of the penalty, and by 2e-6 of
 * wide ones (tests/unit/test_trust_attack.c). */
#define NADIR_ROOM_TIGHT 2.5e-6
#define NADIR_ROOM_WIDE  1e-5

/* The slack of the second-order bound of a difference that a polish aims at, as a share of the allowed
 * width: by trial. */
#define NADIR_DIFFERENCE_SLACK 1e-2

/* --------------------------------------------------------------------------- radius for a target */

/* Evaluations of the root: halving alone, from a bracket, comes to the last digit in about 60. */
#define NADIR_RADIUS_STEPS 60
/* Evaluations with proofs, on each side of the root. By trial. */
#define NADIR_RADIUS_PROOFS 12
/* The first radius, and by how much steps may grow: by trial. */
#define NADIR_RADIUS_FIRST  1e-2
#define NADIR_RADIUS_GROWTH 8
/* A ball of the free domain that is this large, and changes nothing, will not do more. */
#define NADIR_RADIUS_LARGE 1e9
/* Where bounds are apart, the largest radius that they prove is found to this, relative: by trial. */
#define NADIR_RADIUS_COARSE 1e-3

/* ----------------------------------------------------------------------------------------- tables */

/* When a proof is tried. An evaluation passes through these stages in this order, and skips the rough ones
 * unless it has a warm start or shares the proof of many radii. */
typedef enum nadir_proof_stage {
    NADIR_STAGE_BEFORE = 1,      /* before the search; not with a warm start */
    NADIR_STAGE_ROUGH_WARM = 2,  /* warm start: the candidate is stationary to NADIR_STATIONARY_ROUGHLY */
    NADIR_STAGE_ROUGH_RADII = 4, /* shared proof of many radii: likewise */
    NADIR_STAGE_FINE = 8,        /* the candidate is stationary to NADIR_STATIONARY */
    NADIR_STAGE_BOXES = 16,      /* further searches have found nothing worse, and it is not proven */
    NADIR_STAGE_ENCLOSE = 32,    /* likewise, after that: larger sets */
    NADIR_STAGE_AFTER = 64       /* the bounds are not as close as the settings ask */
} nadir_proof_stage;

/* What a proof needs. */
enum {
    NADIR_NEEDS_AUTO = 1,         /* effort auto; strict takes no short cuts */
    NADIR_NEEDS_SECOND_ORDER = 2, /* p = 2 and 0 < tau < infinity */
    NADIR_NEEDS_COLUMNS = 4,      /* columns of D: one process, NADIR_PROOF_STATES */
    NADIR_NEEDS_LARGE = 8,        /* that there are too many states for columns */
    NADIR_NEEDS_LISTED_ROWS =
        16, /* all allowed entries of all rows can be listed: NADIR_LISTED_ENTRIES; or rows be open */
    NADIR_NEEDS_ONE_PROCESS = 32,
    NADIR_NEEDS_KAPPA_PATH = 64, /* the shared proof of many radii */
    NADIR_NEEDS_HOPE = 128,      /* kappa is not known to be far above 1/2 */
    NADIR_NEEDS_NO_HOPE = 256,   /* it is */
    NADIR_NEEDS_BELOW_2 = 1024,  /* p < 2 and 0 <= tau < infinity, and the free domain has not proven it */
    NADIR_NEEDS_FEW = 512,       /* one process, one radius, NADIR_PROOF_STATES_AFTER */
    NADIR_NEEDS_PRICE =
        2048, /* 0 < tau < infinity, p < infinity, kernels that end, NADIR_PROOF_STATES_AFTER, and
                                 the free domain has not proven it */
};

typedef enum nadir_proof_method {
    NADIR_PROVE_FREE,         /* nadir_valid_ask_free: the free domain */
    NADIR_PROVE_KAPPA_PATH,   /* nadir_kappa_path_search */
    NADIR_PROVE_BY_NORMS,     /* nadir_derivation_by_norms */
    NADIR_PROVE_SECOND_ORDER, /* nadir_second_order_search */
    NADIR_PROVE_LARGE,        /* nadir_derivation_large */
    NADIR_PROVE_LAGRANGIAN,   /* nadir_lagrangian_tau_best, nadir_derivation_lagrangian */
    NADIR_PROVE_OCCUPANCIES,  /* nadir_occupancy_search */
    NADIR_PROVE_ENCLOSING,    /* nadir_derivation_enclose, then the proofs of p = 2 */
} nadir_proof_method;

/* A proof for the non-rectangular ball, domains simplex and support. */
typedef struct nadir_proof_row {
    const char *name;
    int stages; /* in which it is tried: a sum of nadir_proof_stage */
    int needs;  /* a sum of NADIR_NEEDS_ */
    double cost;
    nadir_proof_method method;
} nadir_proof_row;

/* In the order in which they are tried; name NULL ends the table. */
extern const nadir_proof_row nadir_proof_table[];

#endif
