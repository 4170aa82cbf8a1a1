/*
 * lmo_l1.cu: the oracle over all rows, p = 1; see lmo_l2.cu and sets/lmo_l1_linf.c.
 *
 * Entries of the largest keys u x, u = alpha w / unit, go to the smallest x of their rows, as far as a budget
 * of beta / 2 lasts. The key at which it ends is found between two keys, as the whole numbers that their bits
 * are: a pass tells how much lies above each of LEVELS keys between them, and the smallest and the largest
 * key that there still is; sixteen times fewer are left after each. No entry is moved, so that sums always
 * come in the same order.
 */
#include "lmo_rows.h"

#include <cmath>

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
                const double key = l1_key(u, rise);
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
        cuda_leave(false, above[i], partials + i * CUDA_PARTIALS);
    }
    cuda_leave(true, -least, partials + (int)LEVELS * (int)CUDA_PARTIALS);
    cuda_leave(true, most, partials + ((int)LEVELS + 1) * (int)CUDA_PARTIALS);
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
                const double key = l1_key(u, rise);
                const double part = l1_part(key, rise, threshold, share < 0 ? 0 : share);
                moved += part * phat;
                other += share >= 0 ? part * phat * rise : key == threshold ? phat : 0;
            });
        });
        all.x += moved / alpha;
        all.y += share >= 0 ? rows.weights[row] * other : other / alpha;
    });
    leave_sums(all, partials);
}

/* What lies above the levels between two keys. */
static nadir_status weigh(const cuda_lmo *lmo, nadir_context *context, int64_t low, int64_t high,
                          int64_t keys[LEVELS], double found[FOUND])
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = lmo->rows->engine;
    levels between;
    between.low = double_of_bits(low);
    between.high = double_of_bits(high);
    for (int i = 0; i < LEVELS; i++) { /* the first is `low` where there is no room between */
        keys[i] = low + (high - low) / (LEVELS + 1) * i + (high - low) % (LEVELS + 1) * i / (LEVELS + 1);
        between.keys[i] = double_of_bits(keys[i]);
    }
    over_rows(lmo, [&](const auto &rows) { weigh_keys<<<BLOCKS, THREADS>>>(rows, between, lmo->room); });
    CUDA_LAUNCHED(engine, context);
    for (int i = 0; i < FOUND; i++) {
        double parts[CUDA_PARTIALS];
        CUDA_CHECK(cuda_copy(engine, context, CUDA_PARTIALS, lmo->room + i * (int)CUDA_PARTIALS, parts));
        found[i] = i == LEVELS ? -2 : 0; /* of the smallest key, its negative */
        for (int j = 0; j < BLOCKS; j++) {
            found[i] = i < LEVELS ? found[i] + parts[j] : fmax(found[i], parts[j]);
        }
    }
    found[LEVELS] = -found[LEVELS];
cleanup:
    return status;
}

/* The key above which less than the budget lies, and with which more; 0: all that can move does. */
static nadir_status find_key(const cuda_lmo *lmo, nadir_context *context, double budget, double *key)
{
    nadir_status status = NADIR_OK;
    int64_t low = 0;
    int64_t high = bits_of_double(1.0);
    int64_t keys[LEVELS];
    double found[FOUND];
    *key = 0;
    while (high - low > 1) {
        CUDA_CHECK(weigh(lmo, context, low, high, keys, found));
        if (low == 0 && !(found[0] > budget)) { /* level 0 is `low`: everything */
            goto cleanup;
        }
        const int64_t least = bits_of_double(found[LEVELS]);
        const int64_t most = bits_of_double(found[LEVELS + 1]);
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
        CUDA_CHECK(lmo->rows->engine->host->progress(context, CUDA_TASK, -1));
    }
    *key = double_of_bits(high);
cleanup:
    return status;
}

static nadir_status total(const cuda_lmo *lmo, nadir_context *context, double key, double share,
                          double sum[2])
{
    const cuda_engine *engine = lmo->rows->engine;
    over_rows(lmo,
              [&](const auto &rows) { total_keys<<<BLOCKS, THREADS>>>(rows, key, share, engine->partials); });
    return cuda_collect(engine, context, false, sum);
}

nadir_status cuda_l1_solve(cuda_lmo *lmo, nadir_context *context, double beta)
{
    nadir_status status = NADIR_OK;
    double key;
    double at[2];
    double sum[2];
    lmo->result.step = 0;
    CUDA_CHECK(find_key(lmo, context, beta / 2, &key));
    if (!(key > 0)) {
        goto cleanup;
    }
    CUDA_CHECK(total(lmo, context, key, -1, at));
    lmo->key = key;
    lmo->share = fmin(fmax((beta / 2 - at[0]) / at[1], 0), 1);
    for (int i = 0;; i++) { /* rounding must not leave the ball */
        CUDA_CHECK(total(lmo, context, key, lmo->share, sum));
        if (2 * sum[0] <= beta || i == CORRECTIONS) {
            break;
        }
        lmo->share = fmax(lmo->share - 2 * (sum[0] - beta / 2) / at[1], 0);
    }
    lmo->result.found = at[1] > 0;
    lmo->result.step = 2 / key;
    lmo->result.tau = key / 2;
    lmo->result.norm = 2 * sum[0];
    lmo->result.gain = sum[1];
cleanup:
    return status;
}

template <typename ROWS>
static __global__ void __launch_bounds__(THREADS)
    write_rows(ROWS rows, double threshold, double share, double *values, bool *nominal)
{
    rows.each([&](const auto &on, int64_t row, double, double u) {
        write_row(on, row, u > 0, values, nominal,
                  [&](const auto &at, double *to) { (void)l1_write(at, u, threshold, share, to); });
    });
}

void cuda_l1_write(const cuda_lmo *lmo, double *values, bool *nominal)
{
    over_rows(lmo, [&](const auto &rows) {
        write_rows<<<BLOCKS, THREADS>>>(rows, lmo->key, lmo->share, values, nominal);
    });
}
