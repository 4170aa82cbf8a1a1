/*
 * occupancy_search.h: which steps of a derivation (proof/derivation.h) narrow the occupancies of the kernels below a
 * level until none is left, or the bound on their returns is as good as wanted.
 */
#ifndef NADIR_SEARCH_OCCUPANCY_SEARCH_H
#define NADIR_SEARCH_OCCUPANCY_SEARCH_H

#include "proof/derivation.h"

typedef struct nadir_occupancy_effort {
    double until;   /* nadir_clock_seconds */
    int64_t solves; /* of processes at most (two_sided_search.h) */
    bool tree;      /* boxes are split */
    double near; /* a gap above this at first, as a share of the penalty, is not worth a round; 0: any is */
    bool brief;  /* rounds end soon where they do not promise a proof */
    /* What has become of it. */
    int64_t solved; /* processes */
    bool spent;     /* it ended before the proof */
} nadir_occupancy_effort;

/* Takes steps until the certificate's lower bound is `wanted`, the effort is spent or nothing better is to be expected.
 * The candidate has 0 < tau < infinity. One process. */
nadir_status nadir_occupancy_search(nadir_context *context, nadir_derivation *derivation, double wanted,
                                    nadir_occupancy_effort *effort);

#endif
