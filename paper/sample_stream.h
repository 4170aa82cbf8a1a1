/* sample_stream.h: a random stream for each sample, so that a sample does not depend on the thread that draws
 * it. */
#ifndef NADIR_PAPER_SAMPLE_STREAM_H
#define NADIR_PAPER_SAMPLE_STREAM_H

#include "inside.h"

/* The key of the streams of one search, from the seed of the context, whose own stream does not move. */
static inline uint64_t nadir_sample_key(const nadir_context *context)
{
    nadir_random random = context->random;
    return nadir_random_next(&random);
}

static inline nadir_random nadir_sample_stream(uint64_t key, int64_t sample)
{
    nadir_random random;
    nadir_random_seed(&random, key + (uint64_t)sample);
    return random;
}

#endif
