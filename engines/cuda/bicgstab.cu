/*
 * bicgstab.cu: A x = b or A^T x = b for one b or many at once, A = I - gamma M, by BiCGSTAB on the device.
 *
 * The recurrence, with its noisy shadow vector and enlarged omega, is that of bicgstab.c; rounds and what
 * follows a round without headway are those of krylov.c: a run on the residual, taken when the residual
 * computed anew is smaller than before, else a stretch of the contraction x <- x + r. Constants and formulas
 * are shared (linalg/formulas.h). Scalars stay on the device; the host reads after each step whether it
 * was the last.
 *
 * Every column has a run of its own; many take their steps together, so that M is read once for all of them,
 * or, if it is CSR, for two that lie side by side. A column that is done stays as it is. What two runs of
 * many columns do not bring to an end is left to the solve of one, with what was found as the guess. Since
 * |x| says what is wanted, it is computed with every step.
 */
#include "bicgstab.h"

#include <cmath>
#include <cstring>

enum { ONE_BLOCKS = 512, MOST_BLOCKS = 256, MOST_COLUMNS = 256, VECTORS = 8, ROUNDS = 2 };
/* Numbers of vectors that are on the device at once, about. */
#define ROOM ((int64_t)1 << 27)

/* A solve on its way. */
typedef struct solver {
    nadir_context *context;
    cuda_matrix *matrix;
    const nadir_device_system *system;
    krylov_space space;
    int64_t count; /* columns */
    int64_t sets;  /* of them side by side; the last one may have a column too many, all zeros */
    int64_t products;
    int64_t failures; /* rounds without headway, of one column */
    column *seen;     /* [count] on the host */
} solver;

static solver solver_of(void *matrix, nadir_context *context, const nadir_device_system *system, column *seen)
{
    solver made;
    memset(&made, 0, sizeof made);
    made.context = context;
    made.matrix = (cuda_matrix *)matrix;
    made.system = system;
    made.seen = seen;
    made.space.n = made.matrix->rows.states;
    made.space.maximum = !system->transposed;
    made.space.wanted = system->residual;
    made.space.relative = system->relative;
    made.space.least = system->least;
    made.space.rounding = system->rounding;
    return made;
}

/* Numbers of the workspace that a column takes. */
static int64_t numbers_each(const krylov_space *space)
{
    static_assert(sizeof(column) % sizeof(double) == 0, "columns stand among numbers");
    return VECTORS * space->n + PARTS * space->blocks + (int64_t)(sizeof(column) / sizeof(double));
}

/* The vectors of `count` columns in the workspace. */
static void lay_out(solver *self, int64_t count, double *room)
{
    krylov_space *in = &self->space;
    double **const vectors[VECTORS] = {&in->b, &in->x, &in->r, &in->e, &in->shadow, &in->p, &in->v, &in->t};
    const int64_t sets = (count + in->beside - 1) / in->beside;
    const int64_t columns = sets * in->beside;
    for (int i = 0; i < VECTORS; i++) {
        *vectors[i] = room + i * columns * in->n;
    }
    in->partials = room + VECTORS * columns * in->n;
    in->columns = (column *)(in->partials + columns * PARTS * in->blocks);
    self->count = count;
    self->sets = sets;
}

/* Whether all columns of a range were done when they were last seen. */
static bool are_done(const solver *self, int64_t first, int64_t count)
{
    const int64_t end = first + count < self->count ? first + count : self->count;
    int64_t j = first;
    while (j < end && self->seen[j].done != RUNNING) {
        j++;
    }
    return j == end;
}

/* y <- A x, of CSR matrices for the sets that are not done. */
static nadir_status apply(solver *self, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    const bool transposed = self->system->transposed;
    const double scale = -self->system->gamma;
    self->products++;
    if (self->space.beside == 1) {
        return cuda_apply(self->matrix, self->context, transposed, self->count, 1, scale, x, y);
    }
    for (int64_t i = 0; i < self->sets; i++) {
        if (!are_done(self, 2 * i, 2)) {
            CUDA_CHECK(cuda_apply_pair(self->matrix, self->context, transposed, 1, scale,
                                       (const double2 *)x + i * self->space.n,
                                       (double2 *)y + i * self->space.n));
        }
    }
cleanup:
    return status;
}

/* Blocks of kernels that go through all columns, and those of kernels of one block for each. */
static dim3 all_of(const solver *self)
{
    return dim3((unsigned)self->space.blocks, (unsigned)self->sets);
}

static unsigned one_each(const solver *self)
{
    return (unsigned)(self->sets * self->space.beside);
}

static nadir_status see_columns(solver *self)
{
    return cuda_copy(self->matrix->rows.engine, self->context, self->count, self->space.columns, self->seen);
}

/* r <- b - A x with its norms. zero: x is zero. */
static nadir_status measure(solver *self, bool zero)
{
    nadir_status status = NADIR_OK;
    const krylov_space *in = &self->space;
    const cuda_engine *engine = self->matrix->rows.engine;
    memset(self->seen, 0, (size_t)self->count * sizeof *self->seen);
    if (zero) {
        const size_t bytes = (size_t)(one_each(self) * in->n) * sizeof(double);
        CUDA_TRY(engine, self->context, cudaMemset(in->x, 0, bytes));
        CUDA_TRY(engine, self->context, cudaMemset(in->r, 0, bytes));
    } else {
        CUDA_CHECK(apply(self, in->x, in->r));
    }
    take_residual<<<all_of(self), THREADS>>>(*in);
    end_residual<<<one_each(self), THREADS>>>(*in);
    CUDA_LAUNCHED(engine, self->context);
    CUDA_CHECK(see_columns(self));
cleanup:
    return status;
}

static nadir_status send_step(solver *self)
{
    nadir_status status = NADIR_OK;
    const krylov_space *in = &self->space;
    const dim3 all = all_of(self);
    const unsigned one = one_each(self);
    CUDA_CHECK(apply(self, in->p, in->v));
    take_alpha<<<all, THREADS>>>(*in);
    end_alpha<<<one, THREADS>>>(*in);
    take_half<<<all, THREADS>>>(*in);
    CUDA_CHECK(apply(self, in->r, in->t));
    take_omega<<<all, THREADS>>>(*in);
    end_omega<<<one, THREADS>>>(*in);
    take_step<<<all, THREADS>>>(*in);
    end_step<<<one, THREADS>>>(*in);
    take_direction<<<all, THREADS>>>(*in);
    CUDA_LAUNCHED(self->matrix->rows.engine, self->context);
cleanup:
    return status;
}

/* e <- about A^-1 r of all columns, with at most so many more products; r is lost. */
static nadir_status run(solver *self, int64_t products)
{
    nadir_status status = NADIR_OK;
    const krylov_space *in = &self->space;
    const cuda_engine *engine = self->matrix->rows.engine;
    const int64_t end = products < INT64_MAX - self->products ? self->products + products : INT64_MAX;
    take_shadow<<<all_of(self), THREADS>>>(*in);
    end_shadow<<<one_each(self), THREADS>>>(*in);
    CUDA_LAUNCHED(engine, self->context);
    while (!are_done(self, 0, self->count) && self->products < end) {
        CUDA_CHECK(send_step(self));
        CUDA_CHECK(see_columns(self));
        CUDA_CHECK(engine->host->progress(self->context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

/* y <- y + x */
static nadir_status add_vectors(const solver *self, const double *x, double *y)
{
    nadir_status status = NADIR_OK;
    add<<<all_of(self), THREADS>>>(self->space, x, y);
    CUDA_LAUNCHED(self->matrix->rows.engine, self->context);
cleanup:
    return status;
}

static double rounding_level(const solver *self)
{
    return self->system->rounding * (self->seen[0].b_norm + 2 * self->seen[0].x_norm);
}

static int64_t products_left(const solver *self)
{
    return self->system->limit > 0 ? self->system->limit - self->products : INT64_MAX;
}

/* What the contraction needs from here. */
static int64_t contraction_products(const solver *self)
{
    const column *own = &self->seen[0];
    return nadir_contraction_products(sensible_goal(&self->space, own->b_norm, own->x_norm), own->residual,
                                      self->system->rate);
}

static int64_t run_limit(const solver *self)
{
    const int64_t left = products_left(self);
    const int64_t most = left < NADIR_KRYLOV_MOST_PRODUCTS ? left : NADIR_KRYLOV_MOST_PRODUCTS;
    const int64_t products = self->system->rate < 1 ? contraction_products(self) : most;
    return products < most ? products : most;
}

/* Up to `products` steps x <- x + r. */
static nadir_status contract(solver *self, int64_t products, bool *contracted)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = self->matrix->rows.engine;
    const double start = self->seen[0].residual;
    const double level = rounding_level(self);
    *contracted = true;
    for (int64_t done = 1; done <= products && *contracted && !are_done(self, 0, 1); done++) {
        CUDA_CHECK(add_vectors(self, self->space.r, self->space.x));
        CUDA_CHECK(measure(self, false));
        *contracted = self->seen[0].residual <= start * pow(self->system->rate, (double)done / 2) + level;
        CUDA_CHECK(engine->host->progress(self->context, CUDA_TASK, -1));
    }
cleanup:
    return status;
}

/* No headway was made by `products`: contracts. *over: that is no use either. */
static nadir_status fall_back(solver *self, int64_t products, bool *over)
{
    nadir_status status = NADIR_OK;
    const int64_t needed = self->system->rate < 1 ? contraction_products(self) : INT64_MAX;
    const bool met_rounding = self->seen[0].residual <= rounding_level(self);
    const int64_t some = products > NADIR_KRYLOV_LEAST_PRODUCTS ? products : NADIR_KRYLOV_LEAST_PRODUCTS;
    const int64_t doubled = some << self->failures;
    const int64_t useful = met_rounding ? NADIR_KRYLOV_LAST_PRODUCTS : doubled < needed ? doubled : needed;
    const int64_t left = products_left(self);
    bool contracted = false;
    if (needed <= NADIR_KRYLOV_MOST_CONTRACTION) {
        self->failures += self->failures < NADIR_KRYLOV_MOST_DOUBLINGS;
        CUDA_CHECK(contract(self, useful < left ? useful : left, &contracted));
    }
    *over = !contracted || met_rounding || are_done(self, 0, 1);
cleanup:
    return status;
}

/* One run on the residual; its result is taken if it is better than x. */
static nadir_status run_round(solver *self, bool *over)
{
    nadir_status status = NADIR_OK;
    krylov_space *in = &self->space;
    const double rate = self->system->rate;
    const double before = self->seen[0].residual;
    const int64_t products_before = self->products;
    int64_t products;
    double enough;
    double *x = in->x;
    CUDA_CHECK(run(self, run_limit(self)));
    products = self->products - products_before;
    enough = rate < 1 ? pow(rate, (double)products / 2) : 0.5;
    CUDA_CHECK(add_vectors(self, in->x, in->e)); /* the trial */
    in->x = in->e;
    in->e = x;
    CUDA_CHECK(measure(self, false));
    if (!(self->seen[0].residual < before)) {
        in->e = in->x;
        in->x = x;
        CUDA_CHECK(measure(self, false));
    }
    *over = are_done(self, 0, 1);
    if (!*over && !(self->seen[0].residual <= enough * before)) {
        CUDA_CHECK(fall_back(self, products, over));
    }
    *over = *over || !std::isfinite(self->seen[0].residual) || products_left(self) <= 0;
cleanup:
    return status;
}

/* Whether x is a guess; one that lies on the device is not looked at. */
static bool is_guess(const solver *self, const double *x)
{
    int64_t i = 0;
    if (self->system->fresh || cuda_is_device_address(x)) {
        return !self->system->fresh;
    }
    while (i < self->space.n && x[i] == 0) {
        i++;
    }
    return i < self->space.n;
}

/* b and the guess, or zero where that is no worse. */
static nadir_status start(solver *self, const double *b, const double *x)
{
    nadir_status status = NADIR_OK;
    const cuda_engine *engine = self->matrix->rows.engine;
    const bool guess = is_guess(self, x);
    CUDA_CHECK(cuda_copy(engine, self->context, self->space.n, b, self->space.b));
    if (guess) {
        CUDA_CHECK(cuda_copy(engine, self->context, self->space.n, x, self->space.x));
        CUDA_CHECK(measure(self, false));
    }
    if (!guess || !(self->seen[0].residual <= self->seen[0].b_norm)) {
        CUDA_CHECK(measure(self, true));
    }
cleanup:
    return status;
}

static nadir_status solve(void *matrix, nadir_context *context, const nadir_device_system *system,
                          const double *b, double *x, nadir_device_solve_result *result)
{
    nadir_status status = NADIR_OK;
    column seen;
    solver self = solver_of(matrix, context, system, &seen);
    cuda_engine *engine = self.matrix->rows.engine;
    bool over = false;
    self.space.beside = 1;
    self.space.blocks = ONE_BLOCKS;
    CUDA_CHECK(cuda_reserve(engine, context, numbers_each(&self.space)));
    lay_out(&self, 1, engine->workspace);
    CUDA_CHECK(start(&self, b, x));
    over = seen.done != RUNNING || !std::isfinite(seen.residual);
    while (!over) {
        CUDA_CHECK(run_round(&self, &over));
    }
    CUDA_CHECK(cuda_copy(engine, context, self.space.n, self.space.x, x));
    *result = {seen.b_norm, seen.x_norm, seen.residual, self.products};
cleanup:
    return status;
}

/* Products after which the run ends in any case: as many as the contraction would need, about. */
static int64_t products_allowed(const nadir_device_system *system)
{
    const double tight = system->residual > 0 ? 1e-16 : system->relative > 1e-16 ? system->relative : 1e-16;
    const int64_t most = NADIR_KRYLOV_MOST_PRODUCTS;
    const int64_t needed = system->rate < 1 ? nadir_contraction_products(tight, 1, system->rate) : most;
    const int64_t some = needed < most ? needed : most;
    return system->limit > 0 && system->limit < some ? system->limit : some;
}

/* Runs, each on the residual that the last one left; ends with the norms of x. */
static nadir_status run_rounds(solver *self)
{
    nadir_status status = NADIR_OK;
    const int64_t limit = products_allowed(self->system);
    CUDA_CHECK(measure(self, false));
    for (int round = 0; round < ROUNDS && !are_done(self, 0, self->count) && self->products < limit;
         round++) {
        CUDA_CHECK(run(self, limit - self->products));
        CUDA_CHECK(add_vectors(self, self->space.e, self->space.x));
        CUDA_CHECK(measure(self, false));
    }
cleanup:
    return status;
}

/* Vectors of all columns come and go by way of t. */
static nadir_status send(solver *self, const double *from, double *to)
{
    nadir_status status = NADIR_OK;
    const krylov_space *in = &self->space;
    const cuda_engine *engine = self->matrix->rows.engine;
    CUDA_TRY(engine, self->context,
             cudaMemset(in->t, 0, (size_t)(self->sets * in->beside * in->n) * sizeof *to));
    CUDA_CHECK(cuda_copy(engine, self->context, in->n * self->count, from, in->t));
    interleave<<<all_of(self), THREADS>>>(*in, false, in->t, to);
    CUDA_LAUNCHED(engine, self->context);
cleanup:
    return status;
}

static nadir_status receive(solver *self, double *from, double *to)
{
    nadir_status status = NADIR_OK;
    const krylov_space *in = &self->space;
    interleave<<<all_of(self), THREADS>>>(*in, true, in->t, from);
    CUDA_LAUNCHED(self->matrix->rows.engine, self->context);
    CUDA_CHECK(cuda_copy(self->matrix->rows.engine, self->context, in->n * self->count, in->t, to));
cleanup:
    return status;
}

static nadir_status solve_some(solver *self, const double *b, double *x, nadir_device_solve_result *results)
{
    nadir_status status = NADIR_OK;
    self->products = 0;
    CUDA_CHECK(send(self, b, self->space.b));
    CUDA_CHECK(send(self, x, self->space.x));
    CUDA_CHECK(run_rounds(self));
    CUDA_CHECK(receive(self, self->space.x, x));
    for (int64_t j = 0; j < self->count; j++) {
        const column *found = self->seen + j;
        results[j] = {found->b_norm, found->x_norm, found->residual, j == 0 ? self->products : 0};
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

static nadir_status solve_many(void *matrix, nadir_context *context, const nadir_device_system *system,
                               int64_t count, const double *b, double *x, nadir_device_solve_result *results)
{
    nadir_status status = NADIR_OK;
    column seen[MOST_COLUMNS];
    solver self = solver_of(matrix, context, system, seen);
    cuda_engine *engine = self.matrix->rows.engine;
    const int64_t n = self.space.n;
    const int beside = self.matrix->rows.dense != NULL ? 1 : 2;
    const unsigned blocks = cuda_blocks(n * beside, THREADS);
    self.space.blocks = (int)(blocks < (unsigned)MOST_BLOCKS ? blocks : (unsigned)MOST_BLOCKS);
    const int64_t each = numbers_each(&self.space);
    const int64_t some = columns_at_once(engine, n, count, each, beside);
    self.space.beside = some == 1 ? 1 : beside;
    CUDA_CHECK(cuda_reserve(engine, context, some * each));
    for (int64_t j = 0; j < count; j += some) {
        lay_out(&self, count - j < some ? count - j : some, engine->workspace);
        CUDA_CHECK(solve_some(&self, b + j * n, x + j * n, results + j));
    }
cleanup:
    return status;
}

void cuda_bicgstab_enter(nadir_device *table)
{
    table->bicgstab_solve = solve;
    table->bicgstab_solve_many = solve_many;
}
