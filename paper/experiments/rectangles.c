/* rectangles.c: kernels that data allow, their distances and returns; see rectangles.h. */
#include "rectangles.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

const nadir_set rectangles_sets[RECTANGLES_SETS] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};

void rectangles_draw(const rectangles_data *data, nadir_random *random, double *kernel)
{
    for (int64_t row = 0; row < data->rows; row++) {
        double *entries = kernel + row * data->states;
        double sum = 0;
        for (int64_t t = 0; t < data->states; t++) {
            entries[t] = 0;
            for (int32_t k = 0; k < data->counts[row * data->states + t] * data->times; k++) {
                entries[t] += nadir_random_exponential(random);
            }
            sum += entries[t];
        }
        for (int64_t t = 0; t < data->states; t++) {
            entries[t] /= sum;
        }
    }
}

/* |P_sa - Phat_sa|_2^2 */
static double row_distance(const rectangles_data *data, const double *kernel, int64_t row)
{
    const int32_t *counts = data->counts + row * data->states;
    double total = 0;
    double squares = 0;
    for (int64_t t = 0; t < data->states; t++) {
        total += counts[t];
    }
    for (int64_t t = 0; t < data->states; t++) {
        const double change = kernel[row * data->states + t] - counts[t] / total;
        squares += change * change;
    }
    return squares;
}

void rectangles_distances(const rectangles_data *data, const double *kernel,
                          double distances[RECTANGLES_SETS])
{
    double whole = 0;
    double most_state = 0;
    double most_row = 0;
    for (int64_t s = 0; s < data->states; s++) {
        double state = 0;
        for (int64_t row = data->state_rows[s]; row < data->state_rows[s + 1]; row++) {
            const double squares = row_distance(data, kernel, row);
            state += squares;
            most_row = fmax(most_row, squares);
        }
        whole += state;
        most_state = fmax(most_state, state);
    }
    distances[0] = sqrt(whole);
    distances[1] = sqrt(most_state);
    distances[2] = sqrt(most_row);
}

/* v = (I - gamma P^pi)^-1 R^pi by Gauss without pivoting, since the diagonal dominates its row; mu . v. */
double rectangles_return(const rectangles_data *data, const double *kernel, const double *policy)
{
    const int64_t states = data->states;
    double A[RECTANGLES_STATES][RECTANGLES_STATES + 1];
    double sum = 0;
    for (int64_t s = 0; s < states; s++) {
        for (int64_t t = 0; t <= states; t++) {
            A[s][t] = s == t;
        }
        for (int64_t row = data->state_rows[s]; row < data->state_rows[s + 1]; row++) {
            A[s][states] += policy[row] * data->rewards[row];
            for (int64_t t = 0; t < states; t++) {
                A[s][t] -= data->discount * policy[row] * kernel[row * states + t];
            }
        }
    }
    for (int64_t k = 0; k < states; k++) {
        for (int64_t s = 0; s < states; s++) {
            const double factor = A[s][k] / A[k][k];
            for (int64_t t = k; s != k && t <= states; t++) {
                A[s][t] -= factor * A[k][t];
            }
        }
    }
    for (int64_t s = 0; s < states; s++) {
        sum += A[s][states] / A[s][s];
    }
    return sum / (double)states;
}

nadir_status rectangles_sample(nadir_context *context, const rectangles_data *data, uint64_t seed,
                               int64_t samples, double *distances, double *returns)
{
    const int64_t entries = data->rows * data->states;
    const int threads = nadir_threads_for(context, samples * entries * data->times * 4);
    nadir_status status = NADIR_OK;
    nadir_status stopped = NADIR_OK;
    nadir_random key;
    double *kernels = NULL; /* of each thread */
    nadir_random_seed(&key, seed);
    const uint64_t first = nadir_random_next(&key);
    NADIR_NEW(context, kernels, threads * entries);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int64_t sample = 0; sample < samples; sample++) {
        double *kernel = kernels + omp_get_thread_num() * entries;
        const double share = (double)sample / (double)samples;
        nadir_random random;
        double found[RECTANGLES_SETS];
        if (!nadir_progress_team(context, "kernels that the data allow", share, &stopped)) {
            continue;
        }
        nadir_random_seed(&random, first + (uint64_t)sample);
        rectangles_draw(data, &random, kernel);
        rectangles_distances(data, kernel, found);
        for (int i = 0; i < RECTANGLES_SETS; i++) {
            distances[i * samples + sample] = found[i];
        }
        for (int i = 0; i < data->policies_count; i++) {
            returns[i * samples + sample] = rectangles_return(data, kernel, data->policies[i]);
        }
    }
    status = stopped;
cleanup:
    nadir_release(context, kernels);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double rectangles_quantile(double *values, int64_t count, double share)
{
    const int64_t rank = (int64_t)ceil(share * (double)count) - 1;
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[rank < 0 ? 0 : rank];
}
