/*
 * iterate_many.cu: A x = b or A^T x = b for many b at once, A = I - gamma M, by BiCGSTAB on the device.
 *
 * Every column has a run of its own, as in iterate.cu, with scalars of its own on the device; they take their
 * steps together, so that M is read once for all of them, or, if it is CSR, for two that lie side by side. A
 * column that is done stays as it is. What two runs do not bring to an end is left to iterate.cu, with what
 * was found as the guess. Since |x| says what is wanted, it is computed with every step.
 */
#include "many.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

enum { MOST_BLOCKS = 256, MOST_COLUMNS = 256, VECTORS = 8, ROUNDS = 2 };
#define MOST_PRODUCTS  100000
#define LEAST_PRODUCTS 40
/* Numbers of vectors that are on the device at once, about. */
#define ROOM ((int64_t)1 << 27)

/* A run on its way. */
typedef struct course {
    nadir_context *context;
    cuda_matrix *matrix;
    const nadir_device_system *system;
    team at;
    int64_t count; /* columns */
    int64_t sets;  /* of them side by side; the last one may have a column too many, all zeros */
    int64_t products;
    column *seen; /* [count] here */
} course;

/* Whether all columns of a set, or of all sets, were done when they were last seen. */
static bool are_done(const course *of, int64_t first, int64_t count)
{
    const int64_t end = first + count < of->count ? first + count : of->count;
    int64_t j = first;
    while (j < end && of->seen[j].done != 0) {
        j++;
    }
    return j == end;
}

/* y <- A x, of CSR matrices for the sets that are not done. */
static nadir_status apply(course *of, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const bool transposed = of->system->transposed;
    const double scale = -of->system->gamma;
    of->products++;
    if (of->at.beside == 1) {
        return cuda_apply(of->matrix, of->context, transposed, of->count, 1, scale, x, y);
    }
    for (int64_t i = 0; i < of->sets; i++) {
        if (!are_done(of, 2 * i, 2)) {
            CUDA_CHECK(cuda_apply_pair(of->matrix, of->context, transposed, 1, scale,
                                       (const double2 *)x + i * of->at.n, (double2 *)y + i * of->at.n));
        }
    }
cleanup:
    return status;
}

/* Blocks of kernels that go through all columns. */
static dim3 all_of(const course *of)
{
    return dim3((unsigned)of->at.blocks, (unsigned)of->sets);
}

/* And those of kernels of one block for each. */
static unsigned one_each(const course *of)
{
    return (unsigned)(of->sets * of->at.beside);
}

static nadir_status send_step(course *of)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all = all_of(of);
    const unsigned one = one_each(of);
    CUDA_CHECK(apply(of, of->at.p, of->at.v));
    take_first<<<all, THREADS>>>(of->at);
    end_first<<<one, THREADS>>>(of->at);
    take_half<<<all, THREADS>>>(of->at);
    CUDA_CHECK(apply(of, of->at.r, of->at.t));
    take_second<<<all, THREADS>>>(of->at);
    end_second<<<one, THREADS>>>(of->at);
    take_step<<<all, THREADS>>>(of->at);
    end_step<<<one, THREADS>>>(of->at);
    turn<<<all, THREADS>>>(of->at);
    CUDA_LAUNCHED(engine, of->context);
cleanup:
    return status;
}

/* r <- b - A x with its norms; the start of a run, or its end. */
static nadir_status measure(course *of, bool ended)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all = all_of(of);
    memset(of->seen, 0, (size_t)of->count * sizeof *of->seen);
    CUDA_CHECK(apply(of, of->at.x, of->at.r));
    start_run<<<all, THREADS>>>(of->at);
    end_start<<<one_each(of), THREADS>>>(of->at, ended);
    CUDA_LAUNCHED(engine, of->context);
    CUDA_TRY(
        engine, of->context,
        cudaMemcpy(of->seen, of->at.columns, (size_t)of->count * sizeof *of->seen, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

/* Products after which the run ends in any case: as many as the contraction would need, about. */
static int64_t products_allowed(const nadir_device_system *system)
{
    const double tight = system->residual > 0 ? 1e-16 : system->relative > 1e-16 ? system->relative : 1e-16;
    const double needed = system->rate < 1 ? log(tight) / log(system->rate) : MOST_PRODUCTS;
    const int64_t some = needed < LEAST_PRODUCTS  ? LEAST_PRODUCTS
                         : needed < MOST_PRODUCTS ? (int64_t)needed
                                                  : MOST_PRODUCTS;
    return system->limit > 0 && system->limit < some ? system->limit : some;
}

/* Steps until all columns are done. */
static nadir_status step(course *of, int64_t limit)
{
    nadir_status status = NADIR_OK;
    cuda_engine *engine = of->matrix->of.engine;
    const dim3 all = all_of(of);
    while (!are_done(of, 0, of->count) && of->products < limit) {
        CUDA_CHECK(send_step(of));
        CUDA_TRY(engine, of->context,
                 cudaMemcpy(of->seen, of->at.columns, (size_t)of->count * sizeof *of->seen,
                            cudaMemcpyDeviceToHost));
        CUDA_CHECK(engine->host->progress(of->context, CUDA_TASK, -1));
    }
    take_all<<<all, THREADS>>>(of->at);
    CUDA_LAUNCHED(engine, of->context);
cleanup:
    return status;
}

/* Runs, each on the residual that the last one left; ends with the norms as they are. */
static nadir_status run(course *of)
{
    nadir_status status = NADIR_OK;
    const int64_t limit = products_allowed(of->system);
    for (int round = 0; round <= ROUNDS; round++) {
        CUDA_CHECK(measure(of, round == ROUNDS));
        if (round == ROUNDS || are_done(of, 0, of->count) || of->products >= limit) {
            break;
        }
        CUDA_CHECK(step(of, limit));
    }
cleanup:
    return status;
}

/* Places of the vectors of `count` columns in the engine's room. */
static void place(course *of, int64_t count, double *room)
{
    team *at = &of->at;
    double **const vectors[VECTORS] = {&at->b, &at->x, &at->r, &at->e, &at->r0, &at->p, &at->v, &at->t};
    const int64_t sets = (count + at->beside - 1) / at->beside;
    const int64_t columns = sets * at->beside;
    for (int i = 0; i < VECTORS; i++) {
        *vectors[i] = room + i * columns * at->n;
    }
    at->partials = room + VECTORS * columns * at->n;
    at->columns = (column *)(at->partials + columns * PARTS * at->blocks);
    of->count = count;
    of->sets = sets;
}

/* Vectors of all columns come and go by way of t. */
static nadir_status send(course *of, const double *from, double *to)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)(of->at.n * of->count) * sizeof *to;
    cuda_engine *engine = of->matrix->of.engine;
    CUDA_TRY(engine, of->context,
             cudaMemset(of->at.t, 0, (size_t)(of->sets * of->at.beside * of->at.n) * sizeof *to));
    CUDA_TRY(engine, of->context, cudaMemcpy(of->at.t, from, bytes, cudaMemcpyHostToDevice));
    lay<<<all_of(of), THREADS>>>(of->at, false, of->at.t, to);
    CUDA_LAUNCHED(engine, of->context);
cleanup:
    return status;
}

static nadir_status bring(course *of, double *from, double *to)
{
    nadir_status status = NADIR_OK;
    const size_t bytes = (size_t)(of->at.n * of->count) * sizeof *to;
    lay<<<all_of(of), THREADS>>>(of->at, true, of->at.t, from);
    CUDA_LAUNCHED(of->matrix->of.engine, of->context);
    CUDA_TRY(of->matrix->of.engine, of->context, cudaMemcpy(to, of->at.t, bytes, cudaMemcpyDeviceToHost));
cleanup:
    return status;
}

static nadir_status go(course *of, const double *b, double *x, nadir_device_solve_result *outcomes)
{
    nadir_status status = NADIR_OK;
    of->products = 0;
    CUDA_CHECK(send(of, b, of->at.b));
    CUDA_CHECK(send(of, x, of->at.x));
    CUDA_CHECK(run(of));
    CUDA_CHECK(bring(of, of->at.x, x));
    for (int64_t j = 0; j < of->count; j++) {
        const column *found = of->seen + j;
        outcomes[j] = {found->b_norm, found->x_norm, found->residual, j == 0 ? of->products : 0};
    }
cleanup:
    return status;
}

/* Columns at once, of `each` numbers: a multiple of `beside`, or one where there is no room for two. */
static int64_t columns_at_once(const cuda_engine *engine, int64_t n, int64_t count, int64_t each, int beside)
{
    const int64_t fit = ROOM / (VECTORS * n) + 1;
    const int64_t most = fit < (int64_t)MOST_COLUMNS ? fit : (int64_t)MOST_COLUMNS;
    int64_t some = count < most ? count : most;
    some += some % beside;
    while (some > 1 && !cuda_fits(engine, (double)(some * each - engine->capacity) * sizeof(double))) {
        some = some <= beside ? 1 : some / 2 + some / 2 % beside;
    }
    return some;
}

nadir_status cuda_iterate_many(void *matrix, nadir_context *context, const nadir_device_system *system,
                               int64_t count, const double *b, double *x, nadir_device_solve_result *outcomes)
{
    nadir_status status = NADIR_OK;
    column seen[MOST_COLUMNS];
    course of;
    memset(&of, 0, sizeof of);
    of.context = context;
    of.matrix = (cuda_matrix *)matrix;
    of.system = system;
    of.seen = seen;
    cuda_engine *engine = of.matrix->of.engine;
    const int64_t n = of.matrix->of.states;
    const int beside = of.matrix->of.dense != NULL ? 1 : 2;
    const int64_t blocks = (n * beside + THREADS - 1) / THREADS;
    of.at.n = n;
    of.at.maximum = !system->transposed;
    of.at.wanted = system->residual;
    of.at.relative = system->relative;
    of.at.least = system->least;
    of.at.blocks = (int)(blocks < (int64_t)MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS);
    const int64_t each = VECTORS * n + PARTS * of.at.blocks + (int64_t)(sizeof(column) / sizeof(double));
    static_assert(sizeof(column) % sizeof(double) == 0, "columns stand among numbers");
    const int64_t some = columns_at_once(engine, n, count, each, beside);
    of.at.beside = some == 1 ? 1 : beside;
    CUDA_CHECK(cuda_reserve(engine, context, some * each));
    for (int64_t j = 0; j < count; j += some) {
        place(&of, count - j < some ? count - j : some, engine->vectors);
        CUDA_CHECK(go(&of, b + j * n, x + j * n, outcomes + j));
    }
cleanup:
    return status;
}
