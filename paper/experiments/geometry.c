/* geometry.c: points of {D^pi H^pi}, their moments and densities, streamed; see geometry.h. */
#include "geometry.h"
#include "numpy_random.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { N = GEOMETRY_ENTRIES, S = GEOMETRY_STATES, BLOCK = GEOMETRY_BLOCK };

void geometry_model_make(uint32_t seed, geometry_model *model)
{
    nadir_numpy_random random;
    nadir_numpy_random_seed(&random, seed);
    model->discount = 0.9;
    for (int row = 0; row < GEOMETRY_ROWS; row++) {
        double sum = 0;
        for (int t = 0; t < S; t++) {
            model->kernel[row][t] = nadir_numpy_random_uniform(&random);
            sum += model->kernel[row][t];
        }
        for (int t = 0; t < S; t++) {
            model->kernel[row][t] /= sum;
        }
    }
}

nadir_random geometry_stream(uint64_t seed, int64_t block)
{
    nadir_random random;
    nadir_random_seed(&random, seed);
    const uint64_t key = nadir_random_next(&random);
    nadir_random_seed(&random, key + (uint64_t)block);
    return random;
}

void geometry_policy_draw(nadir_random *random, double chance[GEOMETRY_STATES])
{
    for (int s = 0; s < S; s++) {
        const double u = nadir_random_uniform(random);
        const double w = nadir_random_uniform(random);
        chance[s] = u + w > 0 ? u / (u + w) : 0.5;
    }
}

/* D <- (I - gamma P^pi)^-1 by Gauss and Jordan; no pivoting, since the diagonal dominates its row. */
static void invert(const geometry_model *model, const double *chance, double D[GEOMETRY_STATES][2 * S])
{
    for (int s = 0; s < S; s++) {
        for (int t = 0; t < S; t++) {
            const double p =
                chance[s] * model->kernel[2 * s][t] + (1 - chance[s]) * model->kernel[2 * s + 1][t];
            D[s][t] = (s == t) - model->discount * p;
            D[s][S + t] = s == t;
        }
    }
    for (int k = 0; k < S; k++) {
        const double scale = 1 / D[k][k];
        for (int t = k; t < 2 * S; t++) {
            D[k][t] *= scale;
        }
        for (int s = 0; s < S; s++) {
            const double factor = D[s][k];
            for (int t = k; s != k && t < 2 * S; t++) {
                D[s][t] -= factor * D[k][t];
            }
        }
    }
}

void geometry_point(const geometry_model *model, const double chance[GEOMETRY_STATES],
                    double point[GEOMETRY_ENTRIES])
{
    double D[S][2 * S];
    invert(model, chance, D);
    for (int s = 0; s < S; s++) {
        for (int t = 0; t < S; t++) {
            point[s * GEOMETRY_ROWS + 2 * t] = D[s][S + t] * chance[t];
            point[s * GEOMETRY_ROWS + 2 * t + 1] = D[s][S + t] * (1 - chance[t]);
        }
    }
}

void geometry_corner(const geometry_model *model, int corner, double point[GEOMETRY_ENTRIES])
{
    double chance[S];
    for (int s = 0; s < S; s++) {
        chance[s] = (corner >> s & 1) == 0;
    }
    geometry_point(model, chance, point);
}

double geometry_coordinate(const double point[GEOMETRY_ENTRIES], const double *origin, const double *axis)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += (point[i] - origin[i]) * axis[i];
    }
    return sum;
}

/* --------------------------------------------------------------------------------------------- moments */

/* Sums of one block, about a centre that keeps them small: first moments, then the lower triangle. */
typedef struct sums {
    double first[N];
    double second[N * (N + 1) / 2];
} sums;

static void add_block(const geometry_model *model, uint64_t seed, int64_t block, int64_t count,
                      const double *centre, sums *into)
{
    nadir_random random = geometry_stream(seed, block);
    memset(into, 0, sizeof *into);
    for (int64_t n = 0; n < count; n++) {
        double chance[S];
        double point[N];
        double *second = into->second;
        geometry_policy_draw(&random, chance);
        geometry_point(model, chance, point);
        for (int i = 0; i < N; i++) {
            point[i] -= centre[i];
            into->first[i] += point[i];
            for (int j = 0; j <= i; j++) {
                *second++ += point[i] * point[j];
            }
        }
    }
}

static int64_t block_length(int64_t samples, int64_t block)
{
    const int64_t left = samples - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

/* Eigenvalues of the covariance, falling, and its eigenvectors with a sign that does not depend on LAPACK. */
static bool find_components(geometry_moments *moments)
{
    double work[NADIR_SYMMETRIC_WORK(N)];
    double values[N];
    double vectors[N * N];
    memcpy(vectors, moments->covariance, sizeof vectors);
    if (!nadir_symmetric_eigen(N, vectors, values, work)) {
        return false;
    }
    for (int c = 0; c < N; c++) {
        const double *vector = vectors + (N - 1 - c) * N;
        double largest = 0;
        for (int i = 0; i < N; i++) {
            largest = fabs(vector[i]) > fabs(largest) * (1 + 1e-9) ? vector[i] : largest;
        }
        moments->variances[c] = fmax(0, values[N - 1 - c]);
        for (int i = 0; i < N; i++) {
            moments->components[c * N + i] = largest < 0 ? -vector[i] : vector[i];
        }
    }
    return true;
}

static void set_moments(const sums *total, const double *centre, int64_t samples, geometry_moments *moments)
{
    const double n = (double)samples;
    const double *second = total->second;
    moments->samples = samples;
    for (int i = 0; i < N; i++) {
        moments->mean[i] = centre[i] + total->first[i] / n;
        for (int j = 0; j <= i; j++) {
            const double value = (*second++ - total->first[i] * total->first[j] / n) / (n - 1);
            moments->covariance[i * N + j] = moments->covariance[j * N + i] = value;
        }
    }
}

static nadir_status add_all(nadir_context *context, const geometry_model *model, uint64_t seed,
                            int64_t samples, const double *centre, sums *total)
{
    const int64_t blocks = (samples + BLOCK - 1) / BLOCK;
    const int threads = nadir_threads_for(context, samples * N * N / 2);
    nadir_status status = NADIR_OK;
    nadir_status stopped = NADIR_OK;
    sums *parts = NULL;
    NADIR_NEW(context, parts, blocks);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t block = 0; block < blocks; block++) {
        const double share = (double)block / (double)blocks;
        if (nadir_progress_team(context, "moments of random policies", share, &stopped)) {
            add_block(model, seed, block, block_length(samples, block), centre, &parts[block]);
        }
    }
    NADIR_CHECK(stopped);
    *total = parts[0];
    for (int64_t block = 1; block < blocks; block++) {
        for (int i = 0; i < N; i++) {
            total->first[i] += parts[block].first[i];
        }
        for (int i = 0; i < N * (N + 1) / 2; i++) {
            total->second[i] += parts[block].second[i];
        }
    }
cleanup:
    nadir_release(context, parts);
    return status;
}

nadir_status geometry_moments_compute(nadir_context *context, const geometry_model *model, uint64_t seed,
                                      int64_t samples, geometry_moments *moments)
{
    const double middle[S] = {0.5, 0.5, 0.5};
    double centre[N];
    nadir_status status = NADIR_OK;
    sums total;
    geometry_point(model, middle, centre);
    NADIR_CHECK(add_all(context, model, seed, samples, centre, &total));
    set_moments(&total, centre, samples, moments);
    if (!find_components(moments)) {
        status = nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "no principal components were found");
    }
cleanup:
    return status;
}

/* ----------------------------------------------------------------------------------------------- views */

void geometry_view_range(const geometry_model *model, const double *origin, geometry_view *view)
{
    for (int axis = 0; axis < 2; axis++) {
        view->low[axis] = INFINITY;
        view->high[axis] = -INFINITY;
        for (int corner = 0; corner < GEOMETRY_CORNERS; corner++) {
            double point[N];
            geometry_corner(model, corner, point);
            const double coordinate = geometry_coordinate(point, origin, view->axes[axis]);
            view->low[axis] = fmin(view->low[axis], coordinate);
            view->high[axis] = fmax(view->high[axis], coordinate);
        }
    }
}

void geometry_axes_draw(nadir_random *random, int count, double *axes)
{
    for (int k = 0; k < count; k++) {
        double *axis = axes + k * N;
        for (int i = 0; i < N; i++) {
            axis[i] = nadir_random_normal(random);
        }
        for (int j = 0; j <= k; j++) { /* Gram and Schmidt; its own length last */
            double dot = 0;
            for (int i = 0; i < N; i++) {
                dot += axis[i] * axes[j * N + i];
            }
            for (int i = 0; i < N; i++) {
                axis[i] = j < k ? axis[i] - dot * axes[j * N + i] : axis[i] / sqrt(dot);
            }
        }
    }
}

/* The bin of a coordinate; one past the range by rounding belongs to the last. */
static int bin_of(double coordinate, double low, double high)
{
    const double share = high > low ? (coordinate - low) / (high - low) : 0.5;
    const int bin = (int)(share * GEOMETRY_BINS);
    return bin < 0 ? 0 : bin < GEOMETRY_BINS ? bin : GEOMETRY_BINS - 1;
}

static void count_block(const geometry_model *model, uint64_t seed, int64_t block, int64_t length,
                        const double *origin, int count, const geometry_view *views, int64_t *counts)
{
    nadir_random random = geometry_stream(seed, block);
    for (int64_t n = 0; n < length; n++) {
        double chance[S];
        double point[N];
        geometry_policy_draw(&random, chance);
        geometry_point(model, chance, point);
        for (int v = 0; v < count; v++) {
            const geometry_view *view = &views[v];
            const int i =
                bin_of(geometry_coordinate(point, origin, view->axes[0]), view->low[0], view->high[0]);
            const int j =
                bin_of(geometry_coordinate(point, origin, view->axes[1]), view->low[1], view->high[1]);
            counts[((int64_t)v * GEOMETRY_BINS + i) * GEOMETRY_BINS + j]++;
        }
    }
}

nadir_status geometry_views_fill(nadir_context *context, const geometry_model *model, uint64_t seed,
                                 int64_t samples, const double *origin, int count, geometry_view *views)
{
    const int64_t blocks = (samples + BLOCK - 1) / BLOCK;
    const int64_t cells = (int64_t)GEOMETRY_BINS * GEOMETRY_BINS;
    const int threads = nadir_threads_for(context, samples * count * N);
    nadir_status status = NADIR_OK;
    nadir_status stopped = NADIR_OK;
    int64_t *counts = NULL; /* of each thread */
    NADIR_NEW_ZERO(context, counts, threads * count * cells);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t block = 0; block < blocks; block++) {
        const double share = (double)block / (double)blocks;
        if (nadir_progress_team(context, "densities of random policies", share, &stopped)) {
            count_block(model, seed, block, block_length(samples, block), origin, count, views,
                        counts + omp_get_thread_num() * count * cells);
        }
    }
    NADIR_CHECK(stopped);
    for (int v = 0; v < count; v++) {
        for (int64_t cell = 0; cell < cells; cell++) {
            views[v].counts[cell] = 0;
            for (int thread = 0; thread < threads; thread++) {
                views[v].counts[cell] += counts[(thread * count + v) * cells + cell];
            }
        }
    }
cleanup:
    nadir_release(context, counts);
    return status;
}
