/* device_counts.c: see device_counts.h. */
#include "support/support.h"

#include "support/device_counts.h"

#include "core/context.h"
#include "core/device.h"

enum { ROOMS = 16 };

static const nadir_device *under;
static nadir_device over;
static test_device_counts watch;
static struct {
    const double *vectors;
    int64_t numbers;
} rooms[ROOMS];

/* Whether a vector lies in a room; two of a call lie on the same side. */
static bool is_there(const double *x)
{
    bool there = false;
    for (int i = 0; i < ROOMS; i++) {
        there = there || (rooms[i].vectors != NULL && x >= rooms[i].vectors &&
                          x < rooms[i].vectors + rooms[i].numbers);
    }
    return there;
}

static bool are_there(const double *x, const double *y)
{
    assert_int_equal(is_there(x), is_there(y));
    return is_there(x);
}

static nadir_status vector_keep(void *self, nadir_context *context, int64_t count, const double *x,
                                void **vector)
{
    const nadir_status status = under->gstd_upload(self, context, count, x, vector);
    watch.vectors += status == NADIR_OK;
    return status;
}

static nadir_status vector_ranks(void *vector, nadir_context *context, int64_t count, const int64_t *ranks,
                                 double *values)
{
    const nadir_status status = under->gstd_ranks(vector, context, count, ranks, values);
    watch.ranks += status == NADIR_OK;
    return status;
}

static nadir_status vector_powers(void *vector, nadir_context *context, const nadir_device_power_terms *at,
                                  double *sums, double *powers)
{
    const nadir_status status = under->gstd_powers(vector, context, at, sums, powers);
    watch.powers += status == NADIR_OK;
    return status;
}

static nadir_status room_take(void *self, nadir_context *context, int64_t numbers, double **vectors)
{
    int i = 0;
    if (watch.no_rooms) {
        return nadir_fail(context, NADIR_ERROR_MEMORY, "no room to spare");
    }
    while (i < ROOMS - 1 && rooms[i].vectors != NULL) {
        i++;
    }
    assert_null(rooms[i].vectors);
    const nadir_status status = under->vec_alloc(self, context, numbers, vectors);
    if (status == NADIR_OK) {
        rooms[i].vectors = *vectors;
        rooms[i].numbers = numbers;
        watch.rooms++;
        watch.rooms_left++;
    }
    return status;
}

static void room_give(void *self, int64_t numbers, double *vectors)
{
    int i = 0;
    while (i < ROOMS - 1 && rooms[i].vectors != vectors) {
        i++;
    }
    assert_true(rooms[i].vectors == vectors && rooms[i].numbers == numbers);
    rooms[i].vectors = NULL;
    watch.rooms_left--;
    under->vec_free(self, numbers, vectors);
}

static nadir_status room_copy(void *self, nadir_context *context, int64_t count, const double *from,
                              double *to)
{
    assert_true(is_there(from) || is_there(to));
    watch.copied += is_there(from) && is_there(to) ? 0 : count;
    return under->vec_copy(self, context, count, from, to);
}

static nadir_status iterate(void *matrix, nadir_context *context, const nadir_device_system *system,
                            const double *b, double *x, nadir_device_solve_result *outcome)
{
    *(are_there(b, x) ? &watch.solved_there : &watch.solved_here) += 1;
    return under->bicgstab_solve(matrix, context, system, b, x, outcome);
}

static nadir_status step_centred(void *step, nadir_context *context, const double *y, const double *z,
                                 double *sums)
{
    assert_int_equal(is_there(y), is_there(z));
    *(are_there(z, sums) ? &watch.centred_there : &watch.centred_here) += 1;
    return under->lmo_centred_product(step, context, y, z, sums);
}

static nadir_status combine(void *matrix, nadir_context *context, bool transposed, int64_t count,
                            double shift, double scale, const double *x, double *y)
{
    *(are_there(x, y) ? &watch.multiplied_there : &watch.multiplied_here) += 1;
    return under->matrix_combine(matrix, context, transposed, count, shift, scale, x, y);
}

test_device_counts *test_device_counts_start(nadir_context *context)
{
    assert_non_null(context->device);
    assert_int_equal(watch.rooms_left, 0);
    under = context->device == &over ? under : context->device;
    over = *under;
    over.gstd_upload = vector_keep;
    over.gstd_ranks = vector_ranks;
    over.gstd_powers = vector_powers;
    over.vec_alloc = room_take;
    over.vec_free = room_give;
    over.vec_copy = room_copy;
    over.bicgstab_solve = iterate;
    over.lmo_centred_product = step_centred;
    over.matrix_combine = combine;
    context->device = &over;
    watch = (test_device_counts){0};
    return &watch;
}
