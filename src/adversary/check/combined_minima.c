/* combined_minima.c: the smallest entries of kernels that are combinations of a few vectors; see
 * check_combined.h. */
#include "adversary/check/check_combined.h"

#include "adversary/proof/rank_one_states.h"
#include "adversary/search/rank_one_candidate.h"
#include "kernel/rank_one.h"
#include "linalg/low_rank_basis.h"

/* Numbers of kernels that are written out at a time. */
#define NUMBERS_LIMIT 4000000

/* What the kernels are written out into. */
typedef struct writing {
    const nadir_combined *of;
    bool by_states;              /* X stands for c / W, rows are not written */
    double *X;                   /* [states * m] */
    double *c;                   /* [states * block] */
    double *k;                   /* [states * block] */
    double *b;                   /* [rows] */
    nadir_rank_one_states shape; /* by_states */
    nadir_rank_one_search search;
} writing;

static void clear_writing(nadir_context *context, writing *at)
{
    nadir_release(context, at->X);
    nadir_release(context, at->c);
    nadir_release(context, at->k);
    nadir_release(context, at->b);
    nadir_rank_one_states_clear(context, &at->shape);
    nadir_rank_one_clear(context, &at->search);
}

static nadir_status begin_writing(nadir_context *context, const nadir_combined *of, int64_t count,
                                  int64_t block, writing *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = of->pair.problem;
    const int64_t n = problem->states;
    const double *W = problem->uncertainty->W;
    const double *X = of->right.vectors + (of->size + 2) * n;
    at->of = of;
    at->by_states = nadir_rank_one_states_fits(problem);
    NADIR_NEW(context, at->X, n * of->size);
    NADIR_NEW(context, at->c, n * block);
    NADIR_NEW(context, at->k, n * block);
    NADIR_NEW(context, at->b, problem->rows);
    NADIR_CHECK(nadir_rank_one_begin(context, problem->model, count, &at->search));
    if (at->by_states) {
        NADIR_CHECK(nadir_rank_one_states_make(context, problem, &at->shape));
    }
    for (int64_t s = 0; s < n; s++) {
        const double factor = !at->by_states ? 1 : W[s] > 0 ? 1 / W[s] : 0;
        for (int j = 0; j < of->size; j++) {
            at->X[j * n + s] = factor * X[j * n + s];
        }
    }
cleanup:
    return status;
}

static nadir_status find_minimum(nadir_context *context, writing *at, int64_t i, double *minimum)
{
    const nadir_problem *problem = at->of->pair.problem;
    const double *c = at->c + i * problem->states;
    const double *k = at->k + i * problem->states;
    if (at->by_states) {
        nadir_rank_one_minimum_of_states(context, &at->search, c, problem->policy->probabilities,
                                         at->shape.top, at->b, k, minimum);
        return NADIR_OK;
    }
    nadir_rank_one_states_expand(problem, c, at->b);
    return nadir_rank_one_minimum(context, &at->search, at->b, k, minimum);
}

nadir_status nadir_combined_minima(nadir_context *context, const nadir_combined *of, int64_t count,
                                   const double *S, const double *T, double *minima)
{
    nadir_status status = NADIR_OK;
    const int64_t n = of->pair.problem->states;
    const int m = of->size;
    const int64_t most = NUMBERS_LIMIT / (2 * n) > 1 ? NUMBERS_LIMIT / (2 * n) : 1;
    const int64_t block = most < count ? most : count;
    writing at = {0};
    NADIR_CHECK(begin_writing(context, of, count, block, &at));
    for (int64_t first = 0; first < count; first += block) {
        const int64_t many = count - first < block ? count - first : block;
        NADIR_CHECK(nadir_progress(context, "looking for smallest entries", (double)first / (double)count));
        nadir_low_rank_basis_combine(context, n, many, m, m, at.X, S + first * m, at.c);
        nadir_low_rank_basis_combine(context, n, many, m + 1, m + 1, of->left.vectors + (m + 1) * n,
                                     T + first * (m + 1), at.k);
        for (int64_t i = 0; i < many; i++) {
            NADIR_CHECK(find_minimum(context, &at, i, &minima[first + i]));
        }
    }
cleanup:
    clear_writing(context, &at);
    return status;
}
