/*
 * random_kernel.c: methods random-kernel and random-kernel-projected: the best of random kernels of the ball.
 *
 * A sample is Phat + beta Delta / |Delta|. Delta is normal with centred rows, so that its direction is
 * uniform among those whose rows sum to zero, and the sample lies on the sphere. The projected variant moves
 * each row to the nearest distribution. Since the nominal row is a distribution, this does not increase its
 * distance. Each sample costs a random number for each entry of the kernel, and a factorisation.
 */
#include "methods/dense_system.h"
#include "methods/methods.h"
#include "sample_stream.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Work of a block of samples for each thread, in multiplications, and the largest block. */
#define BLOCK_WORK    (1 << 24)
#define BLOCK_SAMPLES 4096
/* What drawing a number costs, in multiplications. */
#define DRAW_WORK 32

/* Work of one thread. */
typedef struct worker {
    double *rows; /* [rows * states] the kernel */
    double *P;    /* [states * states] averaged */
    double *v;    /* [states] the value; before, room for projections */
    int *pivots;  /* [states] */
} worker;

typedef struct sampling {
    const nadir_problem *problem;
    double beta;
    bool projected;
    uint64_t key;
    int64_t block;
    double work;       /* of a sample, in multiplications */
    int threads;       /* at most */
    worker *workers;   /* [threads] */
    double *penalties; /* [block] */
} sampling;

static nadir_status start(nadir_context *context, const nadir_problem *problem, sampling *self)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    self->problem = problem;
    self->key = nadir_sample_key(context);
    self->work = (double)n * ((double)n * (double)n / 3 + DRAW_WORK * (double)problem->rows);
    self->threads = context->threads;
    self->block = (int64_t)fmin(BLOCK_SAMPLES, fmax(self->threads, BLOCK_WORK / self->work * self->threads));
    NADIR_NEW(context, self->penalties, self->block);
    NADIR_NEW_ZERO(context, self->workers, self->threads);
    for (int part = 0; part < self->threads; part++) {
        worker *own = &self->workers[part];
        NADIR_NEW(context, own->rows, problem->rows * n);
        NADIR_NEW(context, own->P, n * n);
        NADIR_NEW(context, own->v, n);
        NADIR_NEW(context, own->pivots, n);
    }
    /* Fails where there are too many states. */
    NADIR_CHECK(nadir_dense_nominal(context, problem, self->workers[0].P));
cleanup:
    return status;
}

static void finish(nadir_context *context, sampling *self)
{
    for (int part = 0; self->workers != NULL && part < self->threads; part++) {
        nadir_release(context, self->workers[part].rows);
        nadir_release(context, self->workers[part].P);
        nadir_release(context, self->workers[part].v);
        nadir_release(context, self->workers[part].pivots);
    }
    nadir_release(context, self->workers);
    nadir_release(context, self->penalties);
}

/* row <- alpha times a centred normal row, 0 where alpha = 0; returns the square of |row / alpha|. */
static double draw_row(int64_t n, double scale, nadir_random *random, double *row)
{
    double sum = 0;
    double square = 0;
    if (scale == 0) {
        memset(row, 0, (size_t)n * sizeof *row);
        return 0;
    }
    for (int64_t t = 0; t < n; t++) {
        row[t] = nadir_random_normal(random);
        sum += row[t];
    }
    for (int64_t t = 0; t < n; t++) {
        const double centred = row[t] - sum / (double)n;
        square += centred * centred;
        row[t] = scale * centred;
    }
    return square;
}

/* own->rows <- the kernel of a sample. */
static void draw_kernel(const sampling *self, const worker *own, int64_t sample)
{
    const nadir_problem *problem = self->problem;
    const int64_t n = problem->states;
    nadir_random random = nadir_sample_stream(self->key, sample);
    double *rows = own->rows;
    double square = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        square += draw_row(n, nadir_uncertainty_scale(problem->uncertainty, row), &random, rows + row * n);
    }
    const double length = square > 0 ? self->beta / sqrt(square) * (1 - 8 * DBL_EPSILON) : 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const nadir_row nominal = nadir_model_row(problem->model, row);
        double *entries = rows + row * n;
        for (int64_t t = 0; t < n; t++) {
            entries[t] *= length;
        }
        for (int64_t i = 0; i < nominal.count; i++) {
            entries[nadir_row_column(&nominal, i)] += nominal.values[i];
        }
        if (self->projected && nadir_uncertainty_scale(problem->uncertainty, row) > 0) {
            nadir_simplex_project(n, entries, own->v);
        }
    }
}

/* The penalty of a sample. */
static double penalty_of(const sampling *self, const worker *own, int64_t sample)
{
    const nadir_problem *problem = self->problem;
    const double *pi = problem->policy->probabilities;
    const int64_t n = problem->states;
    draw_kernel(self, own, sample);
    memset(own->P, 0, (size_t)(n * n) * sizeof *own->P);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t row = problem->model->state_rows[s]; row < problem->model->state_rows[s + 1]; row++) {
            for (int64_t t = 0; t < n; t++) {
                own->P[s * n + t] += pi[row] * own->rows[row * n + t];
            }
        }
    }
    return problem->J - nadir_dense_solve(problem, 1, own->P, own->pivots, own->v, NULL);
}

/* The penalties of samples first .. first + count - 1. */
static void evaluate_samples(nadir_context *context, const sampling *self, int64_t first, int64_t count)
{
    const int threads = nadir_threads_for(context, (int64_t)fmin(1e15, (double)count * self->work));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        for (int64_t i = part; i < count; i += threads) {
            self->penalties[i] = penalty_of(self, &self->workers[part], first + i);
        }
    }
}

static nadir_status search(nadir_context *context, sampling *self, nadir_trajectory *trajectory,
                           nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = self->problem;
    int64_t best = -1;
    double highest = 0;
    NADIR_CHECK(start(context, problem, self));
    while ((candidate->stop = nadir_trajectory_stop(trajectory)) == NADIR_STOP_NONE) {
        const int64_t first = trajectory->samples;
        const int64_t count = nadir_trajectory_next_block(trajectory, self->block);
        evaluate_samples(context, self, first, count);
        for (int64_t i = 0; i < count; i++) {
            best = self->penalties[i] > highest ? first + i : best;
            highest = self->penalties[i] > highest ? self->penalties[i] : highest;
        }
        NADIR_CHECK(nadir_trajectory_record(context, trajectory, first + count, highest));
    }
    if (best < 0) { /* no sample has a penalty: the nominal kernel */
        self->beta = 0;
        best = 0;
    }
    draw_kernel(self, &self->workers[0], best);
    NADIR_CHECK(nadir_dense_candidate(context, problem, self->workers[0].rows, candidate));
    candidate->converged = true; /* a search that samples has no other end */
    candidate->iterations = trajectory->samples;
cleanup:
    finish(context, self);
    return status;
}

nadir_status nadir_search_random_kernel(nadir_context *context, const nadir_problem *problem, double beta,
                                        nadir_trajectory *trajectory, nadir_candidate *candidate)
{
    sampling self = {.problem = problem, .beta = beta};
    return search(context, &self, trajectory, candidate);
}

nadir_status nadir_search_random_kernel_projected(nadir_context *context, const nadir_problem *problem,
                                                  double beta, nadir_trajectory *trajectory,
                                                  nadir_candidate *candidate)
{
    sampling self = {.problem = problem, .beta = beta, .projected = true};
    return search(context, &self, trajectory, candidate);
}
