/*
 * thresholds.cu: the linear step over all rows, p = 1; see steps.cu and adversary/rows/lmo_l1.c.
 *
 * Entries of the largest keys u x, u = alpha w / unit, go to the smallest x of their rows, as far as a budget
 * of beta / 2 lasts. The key at which it ends is found between two keys, as the whole numbers that their bits
 * are: a pass tells how much lies above each of LEVELS keys between them, and the smallest and the largest
 * key that there still is; sixteen times fewer are left after each. No entry is moved, so that sums always
 * come in the same order.
 */
#include "rowwise.h"

#include <cmath>
#include <cstring>

enum {
    LEVELS = 15,
    FOUND = LEVELS + 2,
    CORRECTIONS = 4 /* of a share that rounding has left outside the ball */
};

struct levels {
    double keys[LEVELS];
    double low, high; /* keys in (low, high] are in question */
};

/* Mass / alpha of keys above each level; the smallest and the largest in question. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS) weigh_keys(ROWS rows, levels between, double *partials)
{
    double above[LEVELS] = {};
    double least = 2;
    double most = 0;
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        if (!(u > 0)) {
            return;
        }
        on.open(row, [&](const auto &at) {
            at.each([&](double phat, double rise, int64_t) {
                const double key = __dmul_rn(u, rise);
                const double mass = phat / alpha;
#pragma unroll
                for (int i = 0; i < LEVELS; i++) {
                    above[i] += key > between.keys[i] ? mass : 0;
                }
                const bool open = key > between.low && key <= between.high;
                least = open ? fmin(least, key) : least;
                most = open ? fmax(most, key) : most;
            });
        });
    });
    for (int i = 0; i < LEVELS; i++) {
        const double2 sum = over_block(make_double2(above[i], 0));
        if (threadIdx.x == 0) {
            partials[i * CUDA_PARTIALS + blockIdx.x] = sum.x;
        }
        __syncthreads();
    }
    least = -block_largest(-least);
    most = block_largest(most);
    if (threadIdx.x == 0) {
        partials[LEVELS * CUDA_PARTIALS + blockIdx.x] = least;
        partials[(LEVELS + 1) * CUDA_PARTIALS + blockIdx.x] = most;
    }
}

/* What is above the threshold and at it (share < 0), or what moves and what that gains. */
template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    total_keys(ROWS rows, double threshold, double share, double *partials)
{
    double2 all = {0, 0};
    rows.each([&](const auto &on, int64_t row, double alpha, double u) {
        double moved = 0;
        double other = 0;
        if (!(u > 0)) {
            return;
        }
        on.open(row, [&](const auto &at) {
            at.each([&](double phat, double rise, int64_t) {
                const double key = __dmul_rn(u, rise);
                const double part = threshold_part(key, rise, threshold, share < 0 ? 0 : share);
                moved += part * phat;
                other += share >= 0 ? part * phat * rise : key == threshold ? phat : 0;
            });
        });
        all.x += moved / alpha;
        all.y += share >= 0 ? rows.weights[row] * other : other / alpha;
    });
    leave_sums(all, partials);
}

static int64_t bits_of(double key)
{
    int64_t bits;
    memcpy(&bits, &key, sizeof bits);
    return bits;
}

static double key_of(int64_t bits)
{
    double key;
    memcpy(&key, &bits, sizeof key);
    return key;
}

/* What lies above the levels between two keys. */
static nadir_status weigh(const cuda_step *step, nadir_context *context, int64_t low, int64_t high,
                          int64_t keys[LEVELS], double found[FOUND])
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = step->rows->engine;
    levels between;
    between.low = key_of(low);
    between.high = key_of(high);
    for (int i = 0; i < LEVELS; i++) { /* the first is `low` where there is no room between */
        keys[i] = low + (high - low) / (LEVELS + 1) * i + (high - low) % (LEVELS + 1) * i / (LEVELS + 1);
        between.keys[i] = key_of(keys[i]);
    }
    over_rows(step, [&](const auto &rows) { weigh_keys<<<BLOCKS, THREADS>>>(rows, between, step->room); });
    CUDA_LAUNCHED(engine, context);
    CUDA_TRY(
        engine, context,
        cudaMemcpy(step->found, step->room, FOUND * CUDA_PARTIALS * sizeof(double), cudaMemcpyDeviceToHost));
    for (int i = 0; i < FOUND; i++) {
        const double *parts = step->found + i * CUDA_PARTIALS;
        found[i] = i == LEVELS ? 2 : 0;
        for (int j = 0; j < BLOCKS; j++) {
            found[i] = i < LEVELS    ? found[i] + parts[j]
                       : i == LEVELS ? fmin(found[i], parts[j])
                                     : fmax(found[i], parts[j]);
        }
    }
cleanup:
    return status;
}

/* The key above which less than the budget lies, and with which more; 0: all that can move does. */
static nadir_status find_key(const cuda_step *step, nadir_context *context, double budget, double *key)
{
    nadir_status status = NADIR_OK;
    int64_t low = 0;
    int64_t high = bits_of(1.0);
    int64_t keys[LEVELS];
    double found[FOUND];
    *key = 0;
    while (high - low > 1) {
        CUDA_CHECK(weigh(step, context, low, high, keys, found));
        if (low == 0 && !(found[0] > budget)) { /* level 0 is `low`: everything */
            goto cleanup;
        }
        const int64_t least = bits_of(found[LEVELS]);
        const int64_t most = bits_of(found[LEVELS + 1]);
        for (int i = 0; i < LEVELS; i++) {
            if (found[i] > budget) {
                low = keys[i];
            }
        }
        for (int i = LEVELS - 1; i >= 0; i--) {
            if (keys[i] > low && !(found[i] > budget)) {
                high = keys[i];
            }
        }
        high = most < high ? most : high;
        low = least - 1 > low ? least - 1 : low;
        CUDA_CHECK(step->rows->engine->host->progress(context, CUDA_TASK, -1));
    }
    *key = key_of(high);
cleanup:
    return status;
}

static nadir_status total(const cuda_step *step, nadir_context *context, double key, double share,
                          double sum[2])
{
    const cuda_engine *engine = step->rows->engine;
    over_rows(step,
              [&](const auto &rows) { total_keys<<<BLOCKS, THREADS>>>(rows, key, share, engine->partials); });
    return cuda_collect(engine, context, false, sum);
}

nadir_status cuda_threshold_answer(cuda_step *step, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    double key;
    double at[2];
    double sum[2];
    step->answer.step = 0;
    CUDA_CHECK(find_key(step, context, beta / 2, &key));
    if (!(key > 0)) {
        goto cleanup;
    }
    CUDA_CHECK(total(step, context, key, -1, at));
    step->key = key;
    step->share = fmin(fmax((beta / 2 - at[0]) / at[1], 0), 1);
    for (int i = 0;; i++) { /* rounding must not leave the ball */
        CUDA_CHECK(total(step, context, key, step->share, sum));
        if (2 * sum[0] <= beta || i == CORRECTIONS) {
            break;
        }
        step->share = fmax(step->share - 2 * (sum[0] - beta / 2) / at[1], 0);
    }
    step->answer.found = at[1] > 0;
    step->answer.step = 2 / key;
    step->answer.tau = key / 2;
    step->answer.norm = 2 * sum[0];
    step->answer.gain = sum[1];
cleanup:
    return status;
}

/* What moves, and the place of the first entry of the smallest x, which takes it. */
struct threshold_moves {
    double moved;
    int64_t taker;
    __device__ void join(const threshold_moves &other)
    {
        moved += other.moved;
        taker = other.taker < taker ? other.taker : taker;
    }
};

template <typename ROW>
static __device__ void threshold_write(const ROW &row, double u, double threshold, double share, double *to)
{
    threshold_moves all = {0, INT64_MAX};
    row.each([&](double phat, double x, int64_t i) {
        all.join({threshold_part(__dmul_rn(u, x), x, threshold, share) * phat, x == 0 ? i : INT64_MAX});
    });
    all = row.total(all);
    row.write(to, [&](double phat, double x, int64_t i) {
        const double left = phat - threshold_part(__dmul_rn(u, x), x, threshold, share) * phat;
        return i == all.taker ? left + all.moved : left;
    });
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double threshold, double share, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double, double u) {
        write_row(on, row, u > 0, values, nominal,
                  [&](const auto &at, double *to) { threshold_write(at, u, threshold, share, to); });
    });
}

void cuda_threshold_write(const cuda_step *step, double *values, bool *nominal)
{
    over_rows(step, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, step->key, step->share, values, nominal);
    });
}
