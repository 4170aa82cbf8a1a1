/*
 * check_rank_one.c: a kernel Phat - b k^T measured, and its return enclosed; see check_rank_one.h.
 *
 * v_P is made by Sherman-Morrison, but not believed: with r = R^pi - (I - gamma P^pi) v_P, rounding included,
 *
 *     J_P = mu . v_P + mu . D_P r,    D_P r = D r - gamma v_b (k . D r) / (1 + gamma k . v_b),
 *
 * where r follows from the residuals of v and of v_b against Phat: for v_P = v - gamma f v_b, whatever f,
 *
 *     r = r(v) - gamma f r(v_b) + gamma b^pi (f - k . v_P),
 *
 * and |D r| <= |r| / (1 - gamma |Phat^pi|) in the maximum norm, so
 *
 *     |J_P - mu . v_P| <= |r| / (1 - gamma |Phat^pi|) (|mu|_1 + gamma |mu . v_b| |k|_1 / (1 + gamma k . v_b))
 *
 * which asks for nothing of the sign of P's entries: only Phat is taken to be stochastic.
 */
#include "adversary/proof/rank_one_check.h"

#include "adversary/proof/rank_one_states.h"
#include "adversary/proof/verified_solve.h"
#include "base/round.h"
#include "kernel/rank_one.h"
#include "linalg/distributed.h"
#include "linalg/norm.h"

#include <math.h>
#include <string.h>

/* A p-norm as nadir_norm_p has it is off by less than this, relatively. */
#define NORM_ROUNDING nadir_round_error(64)

/* Rounding may put a kernel this far outside its ball, relatively. */
#define EXCESS_LIMIT 1e-10

/* A kernel with more entries is not written out to be factored. */
#define ENTRIES_LIMIT ((int64_t)1 << 24)

/* Numbers of a block of kernels that are kept at a time; more kernels come in several blocks. */
#define NUMBERS_LIMIT 4000000

/* What all kernels share. */
typedef struct shared {
    const nadir_problem *problem;
    nadir_verified_solver known;
    double mu_size;  /* |mu|_1 */
    double R_size;   /* largest reward */
    double *v;       /* [states] nominal, less its mean: as k sums to zero only differences count */
    double *zeros;   /* [rows + states] b and k of the nominal kernel; NULL: not needed yet */
    double residual; /* at least |R^pi - (I - gamma Phat^pi) v| */
    double *b;       /* [rows] of the last kernel that was given by c; NULL: there was none */
    double *work;    /* [rows] */
    nadir_rank_one_states shape; /* once a kernel was given by c, where that fits */
    nadir_rank_one_search search;
} shared;

typedef struct measured {
    shared *of;
    const double *guess;       /* of v_b, or NULL */
    const double *k;           /* [states] */
    double k_size;             /* |k|_1 */
    const double *b;           /* [rows] while it is measured; NULL: of->shape has it by states */
    double b_largest;          /* |b|, the largest, where it is NULL */
    double *b_pi;              /* [states] until there is v, which takes its place */
    double b_size;             /* at least max_s of sum_a pi |b| */
    double *v_b;               /* [states] D b^pi */
    nadir_solve_error v_b_off; /* how well it is known */
    double *product;           /* [states] a copy of v_b; NULL: none is wanted */
    double b_change;           /* at least |b^pi - W c|, where one is */
    double denominator_low;    /* at most 1 + gamma k . v_b */
    double *v;                 /* [states] under the kernel: nominal - gamma f v_b */
    double f;
    double amplification; /* |mu . D_P r| <= this times |r| */
} measured;

static void clear(nadir_context *context, shared *of)
{
    nadir_release(context, of->v);
    nadir_release(context, of->zeros);
    nadir_release(context, of->b);
    nadir_release(context, of->work);
    nadir_rank_one_states_clear(context, &of->shape);
    nadir_rank_one_clear(context, &of->search);
}

/* At least |R^pi - (I - gamma Phat^pi) v| of the nominal v: as computed, and what rounding may hide of it.
 * product: [states]. */
static double nominal_residual(const nadir_context *context, const shared *of, double *product)
{
    const nadir_problem *problem = of->problem;
    const nadir_average *average = nadir_occupancy_average(problem->occupancy);
    const int64_t n = problem->states;
    const double terms = nadir_allreduce_maximum(context, (double)nadir_average_row_length(average));
    double largest = 0;
    nadir_average_multiply(context, average, 1, problem->v, product);
    for (int64_t s = 0; s < n; s++) {
        const double r = (problem->R[s] - problem->v[s]) + problem->gamma * product[s];
        largest = fabs(r) <= largest ? largest : fabs(r); /* a NaN stays */
    }
    largest = nadir_allreduce_maximum(context, largest);
    const double v_size = nadir_global_largest(context, n, problem->v);
    const double through = of->known.size * v_size;
    return nadir_round_up(largest + of->known.averaging * (of->R_size + through) +
                              nadir_round_error(terms + 4) * through +
                              nadir_round_error(4) * (of->R_size + v_size + through),
                          8);
}

static nadir_status begin(nadir_context *context, const nadir_problem *problem, int64_t count, shared *of)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    *of = (shared){.problem = problem, .known = nadir_verified_solver_make(context, problem)};
    NADIR_NEW(context, of->v, n);
    NADIR_NEW(context, of->work, problem->rows);
    NADIR_CHECK(nadir_rank_one_begin(context, problem->model, count, &of->search));
    of->mu_size = nadir_up_norm_1(context, n, problem->mu);
    of->R_size = nadir_global_largest(context, problem->rows, problem->rewards);
    of->residual = nominal_residual(context, of, of->v);
    const double mean = nadir_global_sum(context, n, problem->v) / (double)nadir_model_total(problem->model);
    for (int64_t s = 0; s < n; s++) {
        of->v[s] = problem->v[s] - mean;
    }
cleanup:
    return status;
}

/* b and k of the kernel that is given by c. */
static nadir_status read_pair(nadir_context *context, shared *of, const nadir_rank_one_question *asked,
                              measured *at)
{
    nadir_status status = NADIR_OK;
    if (of->b == NULL) {
        NADIR_NEW(context, of->b, of->problem->rows);
    }
    at->k = asked->k;
    if (nadir_rank_one_states_fits(of->problem)) {
        if (of->shape.square == NULL) {
            NADIR_CHECK(nadir_rank_one_states_make(context, of->problem, &of->shape));
        }
        nadir_rank_one_states_read(of->problem, &of->shape, asked->c, at->b_pi, &at->b_largest);
        at->b_size = nadir_global_largest(context, of->problem->states, at->b_pi);
    } else {
        nadir_rank_one_states_expand(of->problem, asked->c, of->b);
        at->b = of->b;
    }
cleanup:
    return status;
}

/* At least |b^pi - W c| with b^pi as it is in b_pi, of which W c is a rounding short or too much. */
static double change_of(const nadir_context *context, const nadir_problem *problem, const double *c,
                        const measured *at)
{
    const double *W = problem->uncertainty->W;
    double largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double change = fabs(at->b_pi[s] - W[s] * c[s]);
        largest = change <= largest ? largest : change; /* a NaN stays */
    }
    return nadir_round_up(nadir_allreduce_maximum(context, largest) + nadir_round_error(1) * at->b_size, 8);
}

/* b and k of the kernel, and b^pi. */
static nadir_status read_kernel(nadir_context *context, shared *of, const nadir_rank_one_question *asked,
                                measured *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = of->problem;
    const int64_t n = problem->states;
    at->of = of;
    if (asked->kernel == NULL) {
        NADIR_CHECK(read_pair(context, of, asked, at));
    } else if (!nadir_kernel_rank_one(asked->kernel, &at->b, &at->k)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the kernel is not of the form Phat - b k^T");
    }
    if (asked->kernel != NULL && at->b == NULL) { /* nominal */
        if (of->zeros == NULL) {
            NADIR_NEW_ZERO(context, of->zeros, problem->rows + n);
        }
        at->b = of->zeros;
        at->k = of->zeros + problem->rows;
    }
    if (at->b != NULL) {
        nadir_rank_one_states_average(problem, at->b, at->b_pi, &at->b_size);
        at->b_size = nadir_allreduce_maximum(context, at->b_size);
    }
    at->b_size *= 1 + of->known.averaging;
    at->k_size = nadir_up_norm_1(context, n, at->k);
    at->v_b_off.b_error = of->known.averaging * at->b_size;
    at->product = asked->product;
    if (at->product != NULL) {
        at->b_change = change_of(context, problem, asked->c, at);
    }
cleanup:
    return status;
}

/* A group of rows of norm |b|_p |k|_p, up to `rounding`, against its radius. */
static void judge(double of_b, double of_k, double rounding, double radius, nadir_rank_one_check *check)
{
    const double norm = of_b * of_k * (1 + rounding + 2 * NORM_ROUNDING + nadir_round_error(4));
    const double beyond = norm - radius;
    check->norm = norm > check->norm ? norm : check->norm;
    if (beyond > 0) {
        check->excess = fmax(check->excess, radius > 0 ? beyond / radius : INFINITY);
    }
}

/* |x|_p up to NORM_ROUNDING; infinity where an entry is not finite. */
static nadir_status norm_of(nadir_context *context, int64_t count, const double *x, double p, double *norm)
{
    if (p == 2) {
        const double found = nadir_global_norm_2(context, count, x);
        *norm = isnan(found) ? INFINITY : found;
        return NADIR_OK;
    }
    *norm = INFINITY;
    return isfinite(nadir_global_largest(context, count, x)) ? nadir_norm_p(context, count, x, p, norm)
                                                             : NADIR_OK;
}

/* The norm of b k^T, by the rows of b. */
static nadir_status measure_rows(nadir_context *context, const measured *at, double factor, double of_k,
                                 nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->of->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const double *scaled = set->scales != NULL ? at->of->work : at->b;
    for (int64_t row = 0; row < problem->rows && set->scales != NULL; row++) {
        /* a pinned row that was moved: infinite */
        at->of->work[row] = at->b[row] != 0 ? at->b[row] / set->scales[row] : 0;
    }
    if (set->set == NADIR_SET_NONRECT) { /* millions of rows, perhaps: a plain sum would not do */
        double of_b;
        NADIR_CHECK(norm_of(context, problem->rows, scaled, set->p, &of_b));
        judge(of_b, of_k, 0, factor * set->radius, check);
    }
    for (int64_t s = 0; s < problem->states && set->set != NADIR_SET_NONRECT; s++) {
        const int64_t end = problem->model->state_rows[s + 1];
        const int64_t step = set->set == NADIR_SET_SA ? 1 : end - problem->model->state_rows[s];
        for (int64_t row = problem->model->state_rows[s]; row < end; row += step) {
            const double of_b = nadir_norm_short(step, scaled + row, set->p);
            judge(of_b, of_k, nadir_round_error((double)step), factor * nadir_uncertainty_radius(set, s, row),
                  check);
        }
    }
    check->norm = nadir_allreduce_maximum(context, check->norm);
    check->excess = nadir_allreduce_maximum(context, check->excess);
cleanup:
    return status;
}

/* Norm, row sums and smallest entry. */
static nadir_status measure(nadir_context *context, const measured *at, double factor,
                            nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->of->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    const nadir_rank_one_states *shape = &at->of->shape;
    const double n = (double)nadir_model_total(problem->model);
    double b_largest = at->b_largest;
    double of_k;
    check->norm = 0;
    check->excess = 0;
    NADIR_CHECK(norm_of(context, problem->states, at->k, set->p, &of_k));
    if (at->b != NULL) {
        NADIR_CHECK(measure_rows(context, at, factor, of_k, check));
        b_largest = nadir_global_largest(context, problem->rows, at->b);
        NADIR_CHECK(nadir_rank_one_minimum(context, &at->of->search, at->b, at->k, &check->minimum));
    } else {
        double of_b;
        NADIR_CHECK(norm_of(context, problem->states, shape->sizes, 2, &of_b));
        judge(of_b, of_k, at->of->known.averaging + nadir_round_error(8), factor * set->radius, check);
        nadir_rank_one_minimum_of_states(context, &at->of->search, shape->factors,
                                         problem->policy->probabilities, shape->top, at->of->b, at->k,
                                         &check->minimum);
    }
    /* a compensated sum is off by a rounding of itself and by n^2 u^2 of the sizes */
    const double sum = nadir_round_up(fabs(nadir_global_sum(context, problem->states, at->k)), 2) +
                       2 * n * nadir_round_error(1) * n * nadir_round_error(1) * at->k_size;
    check->row_sum = nadir_round_up(b_largest * sum, 2);
cleanup:
    return status;
}

/* The denominator, v by Sherman-Morrison and how a residual of it grows, from v_b. */
static void update_value(const nadir_context *context, measured *at)
{
    const shared *of = at->of;
    const nadir_problem *problem = of->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    double ignored;
    const double feedback = nadir_global_dot(context, n, at->k, at->v_b, &off);
    const double denominator = 1 + gamma * feedback;
    at->denominator_low =
        nadir_round_below(denominator - nadir_round_up(gamma * (off + at->k_size * at->v_b_off.error), 4),
                          1 + gamma * fabs(feedback), 4);
    const double loss = nadir_global_dot(context, n, at->k, of->v, &ignored);
    at->f = loss / denominator;
    for (int64_t s = 0; s < n; s++) {
        at->v[s] = problem->v[s] - gamma * at->v_b[s] * at->f;
    }
    const double strength = fabs(nadir_global_dot(context, n, problem->mu, at->v_b, &off)) + off +
                            of->mu_size * at->v_b_off.error;
    at->amplification = INFINITY;
    if (at->denominator_low > 0 && of->known.gap > 0) {
        const double grown = of->mu_size + gamma * strength * at->k_size / at->denominator_low;
        at->amplification = nadir_round_up(grown / of->known.gap, 16);
    }
}

/* At least |R^pi - (I - gamma (Phat^pi - b^pi k^T)) v|: v is the combination that it is said to be up to
 * three roundings of the second term and one of the result, which count with |I - gamma Phat^pi|. */
static double residual_of(const nadir_context *context, const measured *at)
{
    const nadir_problem *problem = at->of->problem;
    const int64_t n = problem->states;
    const double gamma = problem->gamma;
    double off;
    const double shift = nadir_global_dot(context, n, at->k, at->v, &off);
    const double moved = gamma * fabs(at->f);
    const double v_size = nadir_global_largest(context, n, at->v);
    const double rounding = nadir_round_error(4) * (moved * at->v_b_off.largest + v_size);
    const double open = nadir_round_above(fabs(at->f - shift) + off, fabs(at->f) + fabs(shift), 2);
    return nadir_round_up(at->of->residual + moved * at->v_b_off.residual +
                              (1 + at->of->known.size) * rounding + gamma * at->b_size * open,
                          16);
}

static void enclose(const nadir_context *context, const measured *at, nadir_rank_one_check *check)
{
    double off;
    const nadir_problem *problem = at->of->problem;
    const double residual = residual_of(context, at);
    const double J = nadir_global_dot(context, problem->states, problem->mu, at->v, &off);
    const double width = nadir_round_above(nadir_round_up(at->amplification * residual + off, 4), fabs(J), 2);
    check->lower = isfinite(width) && isfinite(J) ? J - width : -INFINITY;
    check->upper = isfinite(width) && isfinite(J) ? J + width : INFINITY;
}

/* Phat - b k^T row after row, where actions are taken at all. b: [rows], k: [states]. */
static nadir_status write_out(nadir_context *context, const nadir_problem *problem, const double *b,
                              const double *k, nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = problem->model;
    const int64_t n = model->states;
    int64_t *rows = NULL;
    int64_t *starts = NULL;
    int32_t *columns = NULL;
    double *values = NULL;
    int64_t count = 0;
    NADIR_NEW(context, rows, model->rows);
    NADIR_NEW(context, starts, model->rows + 1);
    NADIR_NEW(context, columns, model->rows * n);
    NADIR_NEW(context, values, model->rows * n);
    starts[0] = 0;
    for (int64_t row = 0; row < model->rows; row++) {
        if (problem->policy->probabilities[row] > 0) {
            const nadir_row nominal = nadir_model_row(model, row);
            double *to = values + count * n;
            for (int64_t t = 0; t < n; t++) {
                to[t] = -(b[row] * k[t]);
                columns[count * n + t] = (int32_t)t;
            }
            for (int64_t i = 0; i < nominal.count; i++) {
                to[nadir_row_column(&nominal, i)] += nominal.values[i];
            }
            rows[count++] = row;
            starts[count] = count * n;
        }
    }
    const nadir_changed_rows changed = {count, rows, starts, columns, values};
    NADIR_CHECK(nadir_kernel_create_changed(context, problem->model, &changed, kernel));
cleanup:
    nadir_release(context, rows);
    nadir_release(context, starts);
    nadir_release(context, columns);
    nadir_release(context, values);
    return status;
}

/* The return once more, from factors of the perturbed system. */
static nadir_status compare(nadir_context *context, const measured *at, const nadir_rank_one_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->of->problem;
    const int64_t n = problem->states;
    nadir_kernel *kernel = NULL;
    nadir_occupancy *occupancy = NULL;
    nadir_accuracy accuracy;
    double off;
    if (problem->model->exchange == NULL && problem->rows <= ENTRIES_LIMIT / n) {
        NADIR_CHECK(write_out(context, problem, at->b, at->k, &kernel));
    } else {
        NADIR_CHECK(nadir_kernel_create_rank_one(context, problem->model, at->b, at->k, &kernel));
    }
    NADIR_CHECK(
        nadir_occupancy_create(context, kernel, problem->policy, problem->gamma, NULL, 0, &occupancy));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, problem->R, at->v, &accuracy));
    const double v_size = nadir_global_largest(context, n, at->v);
    /* entries as they were written, averages and rewards are off by some roundings */
    const double rounding =
        (at->of->known.averaging + nadir_round_error(4)) *
        (at->of->R_size + (at->of->known.size + problem->gamma * at->b_size * at->k_size) * v_size);
    const double J = nadir_global_dot(context, n, problem->mu, at->v, &off);
    const double width = nadir_round_above(
        nadir_round_up(at->amplification * (accuracy.residual + rounding) + off, 8), fabs(J), 2);
    if (J + width < check->lower || J - width > check->upper) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the return of the kernel is %.17g by a factorisation of its own, but between "
                            "%.17g and %.17g by Sherman-Morrison",
                            J, check->lower, check->upper);
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    nadir_kernel_free(kernel);
    return status;
}

/* The norm of every kernel, as far as it can be told without its return. */
static nadir_status measure_all(nadir_context *context, shared *of, int64_t count,
                                const nadir_rank_one_question *asked, measured *all,
                                nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    for (int64_t i = 0; i < count; i++) {
        NADIR_CHECK(read_kernel(context, of, &asked[i], &all[i]));
        all[i].guess = asked[i].guess;
        NADIR_CHECK(measure(context, &all[i], asked[i].factor, &checks[i]));
        if (checks[i].excess > EXCESS_LIMIT) {
            status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                                "the kernel lies outside its ball by a share of %g", checks[i].excess);
            goto cleanup;
        }
    }
cleanup:
    return status;
}

/* v_b of all, then v of all. room: [2 * states * count] for b^pi, later v, and for v_b. */
static nadir_status enclose_all(nadir_context *context, const shared *of, int64_t count, measured *all,
                                nadir_solve_error *enclosed, double *room, nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = of->problem;
    const int64_t numbers = problem->states * count;
    const double **guesses = NULL;
    bool guessed = false;
    NADIR_NEW(context, guesses, count);
    for (int64_t i = 0; i < count; i++) {
        enclosed[i] = all[i].v_b_off;
        guesses[i] = all[i].guess;
        guessed = guessed || guesses[i] != NULL;
    }
    NADIR_CHECK(nadir_verified_solve_many(context, problem, &of->known, false, count, room,
                                          guessed ? guesses : NULL, room + numbers, enclosed));
    for (int64_t i = 0; i < count; i++) {
        all[i].v_b_off = enclosed[i];
        if (all[i].product != NULL) {
            memcpy(all[i].product, all[i].v_b, (size_t)problem->states * sizeof *all[i].product);
            checks[i].product_off = nadir_round_up(enclosed[i].residual + all[i].b_change, 4);
        }
        update_value(context, &all[i]);
        enclose(context, &all[i], &checks[i]);
    }
cleanup:
    nadir_release(context, guesses);
    return status;
}

static nadir_status check_block(nadir_context *context, shared *of, int64_t count,
                                const nadir_rank_one_question *asked, bool refactor,
                                nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->problem->states;
    measured *all = NULL;
    nadir_solve_error *enclosed = NULL;
    double *room = NULL;
    NADIR_NEW_ZERO(context, all, count);
    NADIR_NEW(context, enclosed, count);
    NADIR_NEW(context, room, 2 * n * count);
    for (int64_t i = 0; i < count; i++) {
        all[i].b_pi = room + i * n;
        all[i].v_b = room + (count + i) * n;
        all[i].v = all[i].b_pi;
    }
    NADIR_CHECK(measure_all(context, of, count, asked, all, checks));
    NADIR_CHECK(enclose_all(context, of, count, all, enclosed, room, checks));
    for (int64_t i = 0; i < count && refactor; i++) {
        NADIR_CHECK(compare(context, &all[i], &checks[i]));
    }
cleanup:
    nadir_release(context, all);
    nadir_release(context, enclosed);
    nadir_release(context, room);
    return status;
}

nadir_status nadir_rank_one_check_kernels(nadir_context *context, const nadir_problem *problem, int64_t count,
                                          const nadir_rank_one_question *asked, bool refactor,
                                          nadir_rank_one_check *checks)
{
    nadir_status status = NADIR_OK;
    const int64_t most = NUMBERS_LIMIT / (2 * nadir_model_share(problem->model));
    const int64_t block = most > 1 ? most : 1;
    shared of;
    NADIR_CHECK(begin(context, problem, count, &of));
    for (int64_t first = 0; first < count; first += block) {
        NADIR_CHECK(nadir_progress(context, "checking kernels", (double)first / (double)count));
        NADIR_CHECK(check_block(context, &of, count - first < block ? count - first : block, asked + first,
                                refactor, checks + first));
    }
cleanup:
    clear(context, &of);
    return status;
}

nadir_status nadir_rank_one_check_kernel(nadir_context *context, const nadir_problem *problem, double factor,
                                         const nadir_kernel *kernel, bool refactor,
                                         nadir_rank_one_check *check)
{
    const nadir_rank_one_question asked = {.kernel = kernel, .factor = factor};
    return nadir_rank_one_check_kernels(context, problem, 1, &asked, refactor, check);
}
