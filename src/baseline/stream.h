/* stream.h: a random stream for each sample, so that samples do not depend on which thread draws them. */
#ifndef NADIR_BASELINE_STREAM_H
#define NADIR_BASELINE_STREAM_H

#include "base/context.h"

/* What the streams of one search are made from; the stream of the context stays where it is. */
static inline uint64_t nadir_stream_key(const nadir_context *context)
{
    nadir_random random = context->random;
    return nadir_random_next(&random);
}

static inline nadir_random nadir_stream_of(uint64_t key, int64_t sample)
{
    nadir_random random;
    nadir_random_seed(&random, key + (uint64_t)sample);
    return random;
}

#endif
