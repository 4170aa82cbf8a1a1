/*
 * geometry_device.c: random policies on the device of an engine (base/device.h): the same ones, whose points
 * have the same bits; see geometry.h. The streams of the blocks are cut into short ones here, so that the
 * device has enough of them to work on side by side.
 */
#include "geometry.h"

enum { EACH = 64, DRAWS = 2 * GEOMETRY_STATES };

_Static_assert((int)GEOMETRY_STATES == (int)NADIR_DEVICE_FEW &&
                   (int)GEOMETRY_ENTRIES == (int)NADIR_DEVICE_POINT &&
                   (int)GEOMETRY_SUMS == (int)NADIR_DEVICE_SUMS && GEOMETRY_BLOCK % EACH == 0,
               "the sizes that a device knows");

/* [4 * streams] the state of the generator before every EACH-th policy. */
static nadir_status cut_streams(nadir_context *context, uint64_t seed, int64_t samples, uint64_t **streams)
{
    nadir_status status = NADIR_OK;
    const int64_t count = (samples + EACH - 1) / EACH;
    const int64_t blocks = (samples + GEOMETRY_BLOCK - 1) / GEOMETRY_BLOCK;
    const int threads = nadir_threads_for(context, samples * DRAWS);
    uint64_t *made = NULL;
    NADIR_NEW(context, made, 4 * count);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t block = 0; block < blocks; block++) {
        nadir_random random = geometry_stream(seed, block);
        const int64_t first = block * (GEOMETRY_BLOCK / EACH);
        for (int64_t i = first; i < count && i < first + GEOMETRY_BLOCK / EACH; i++) {
            for (int k = 0; k < 4; k++) {
                made[4 * i + k] = random.state[k];
            }
            for (int draw = 0; draw < EACH * DRAWS; draw++) {
                (void)nadir_random_next(&random);
            }
        }
    }
    *streams = made;
cleanup:
    return status;
}

static nadir_status ask(nadir_context *context, const geometry_model *model, uint64_t seed,
                        nadir_device_policies *asked)
{
    nadir_status status = NADIR_OK;
    uint64_t *streams = NULL;
    NADIR_CHECK(cut_streams(context, seed, asked->count, &streams));
    asked->gamma = model->discount;
    asked->kernel = &model->kernel[0][0];
    asked->each = EACH;
    asked->streams = streams;
    NADIR_CHECK(context->device->policies(context->device_self, context, asked));
cleanup:
    nadir_release(context, streams);
    return status;
}

nadir_status geometry_device_sums(nadir_context *context, const geometry_model *model, uint64_t seed,
                                  int64_t samples, const double *centre, double sums[GEOMETRY_SUMS])
{
    nadir_device_policies asked = {.count = samples, .centre = centre, .sums = sums};
    return ask(context, model, seed, &asked);
}

nadir_status geometry_device_fill(nadir_context *context, const geometry_model *model, uint64_t seed,
                                  int64_t samples, const double *origin, int count, geometry_view *views)
{
    nadir_status status = NADIR_OK;
    const int64_t cells = (int64_t)GEOMETRY_BINS * GEOMETRY_BINS;
    double *axes = NULL;
    double *ranges = NULL;
    int64_t *counts = NULL;
    NADIR_NEW(context, axes, (int64_t)count * 2 * GEOMETRY_ENTRIES);
    NADIR_NEW(context, ranges, (int64_t)count * 4);
    NADIR_NEW(context, counts, count * cells);
    for (int v = 0; v < count; v++) {
        for (int i = 0; i < 2 * GEOMETRY_ENTRIES; i++) {
            axes[v * 2 * GEOMETRY_ENTRIES + i] = views[v].axes[i / GEOMETRY_ENTRIES][i % GEOMETRY_ENTRIES];
        }
        for (int axis = 0; axis < 2; axis++) {
            ranges[4 * v + 2 * axis] = views[v].low[axis];
            ranges[4 * v + 2 * axis + 1] = views[v].high[axis];
        }
    }
    nadir_device_policies asked = {.count = samples,
                                   .centre = origin,
                                   .views = count,
                                   .bins = GEOMETRY_BINS,
                                   .axes = axes,
                                   .ranges = ranges,
                                   .counts = counts};
    NADIR_CHECK(ask(context, model, seed, &asked));
    for (int v = 0; v < count; v++) {
        for (int64_t cell = 0; cell < cells; cell++) {
            views[v].counts[cell] = counts[v * cells + cell];
        }
    }
cleanup:
    nadir_release(context, axes);
    nadir_release(context, ranges);
    nadir_release(context, counts);
    return status;
}
