/* naive_rows.c: row problems by bisections and sorting; see naive_rows.h. */
#include "support/support.h"

#include "support/naive_rows.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>

static bool allowed(const test_naive_rows *rows, int64_t row, int64_t t)
{
    return !rows->support || rows->phat[row * rows->states + t] > 0;
}

static double cost(const test_naive_rows *rows, int64_t row, int64_t t)
{
    return rows->v[t] + (rows->e != NULL ? rows->e[row * rows->states + t] : 0);
}

/* X_t of level omega and multiplier tau: w (v - omega) + p tau |Delta|^(p-1) sign(Delta) / alpha^p = 0. */
static long double entry(const test_naive_rows *rows, int64_t row, int64_t t, long double omega,
                         long double tau)
{
    const long double phat = rows->phat[row * rows->states + t];
    const long double g = rows->weight[row] * (omega - cost(rows, row, t));
    const long double p = rows->p;
    const long double size = powl(fabsl(g) * powl(rows->alpha[row], p) / (p * tau), 1 / (p - 1));
    const long double X = g > 0 ? phat + size : phat - size;
    return allowed(rows, row, t) && X > 0 ? X : 0;
}

/* The level at which the row sums to one. */
static long double level(const test_naive_rows *rows, int64_t row, long double tau)
{
    long double low = cost(rows, row, 0);
    long double high = cost(rows, row, 0);
    for (int64_t t = 0; t < rows->states; t++) {
        low = fminl(low, cost(rows, row, t));
        high = fmaxl(high, cost(rows, row, t));
    }
    for (int i = 0; i < 90; i++) {
        const long double middle = low + (high - low) / 2;
        long double sum = 0;
        for (int64_t t = 0; t < rows->states; t++) {
            sum += entry(rows, row, t, middle, tau);
        }
        *(sum < 1 ? &low : &high) = middle;
    }
    return low + (high - low) / 2;
}

/* The gain at tau, and the sum of (|Delta| / alpha)^p. */
static long double gain_at(const test_naive_rows *rows, long double tau, long double *spent)
{
    long double gain = 0;
    *spent = 0;
    for (int64_t row = 0; row < rows->count; row++) {
        if (!(rows->alpha[row] > 0) || !(rows->weight[row] > 0)) {
            continue;
        }
        const long double omega = level(rows, row, tau);
        for (int64_t t = 0; t < rows->states; t++) {
            const long double phat = rows->phat[row * rows->states + t];
            const long double X = entry(rows, row, t, omega, tau);
            gain += rows->weight[row] * (phat - X) * cost(rows, row, t);
            *spent += powl(fabsl(X - phat) / rows->alpha[row], rows->p);
        }
    }
    return gain;
}

/* The gain of all mass on the smallest allowed v, evenly among equals, and the sum of (|Delta| / alpha)^p. */
static long double gain_most(const test_naive_rows *rows, long double *spent)
{
    long double gain = 0;
    *spent = 0;
    for (int64_t row = 0; row < rows->count; row++) {
        const double *phat = rows->phat + row * rows->states;
        long double lowest = INFINITY;
        long double takers = 0;
        long double moved = 0;
        for (int64_t t = 0; t < rows->states; t++) {
            lowest = allowed(rows, row, t) ? fminl(lowest, cost(rows, row, t)) : lowest;
        }
        for (int64_t t = 0; t < rows->states && rows->alpha[row] > 0 && rows->weight[row] > 0; t++) {
            const bool takes = allowed(rows, row, t) && cost(rows, row, t) == (double)lowest;
            takers += takes;
            moved += takes ? 0 : phat[t];
            gain += rows->weight[row] * phat[t] * (cost(rows, row, t) - lowest);
            *spent += takes ? 0 : powl(phat[t] / (long double)rows->alpha[row], rows->p);
        }
        *spent += moved > 0 ? takers * powl(moved / takers / rows->alpha[row], rows->p) : 0;
    }
    return gain;
}

static double gain_power(const test_naive_rows *rows)
{
    const long double most = powl(rows->beta, rows->p);
    long double all;
    const long double best = gain_most(rows, &all);
    if (all <= most) {
        return (double)best;
    }
    long double low = -40; /* of log tau */
    long double high = 40;
    long double spent;
    for (int i = 0; i < 75; i++) {
        const long double middle = (low + high) / 2;
        gain_at(rows, expl(middle), &spent);
        *(spent > most ? &low : &high) = middle;
    }
    return (double)gain_at(rows, expl(high), &spent);
}

/* Something that can be moved: what it brings for each unit of the budget, and how much of that it takes. */
typedef struct move {
    long double worth, amount;
} move;

static int compare_moves(const void *a, const void *b)
{
    const long double x = ((const move *)a)->worth;
    const long double y = ((const move *)b)->worth;
    return (x < y) - (x > y);
}

static long double take_best(int64_t count, move *moves, long double budget)
{
    long double gain = 0;
    qsort(moves, (size_t)count, sizeof *moves, compare_moves);
    for (int64_t i = 0; i < count; i++) {
        const long double amount = fminl(moves[i].amount, budget);
        gain += amount * moves[i].worth;
        budget -= amount;
    }
    return gain;
}

/* p = 1: 2 m / alpha of the budget moves m to the row's smallest v. */
static double gain_one(const test_naive_rows *rows)
{
    move *moves = test_new(rows->count * rows->states, sizeof *moves);
    for (int64_t row = 0; row < rows->count; row++) {
        long double lowest = INFINITY;
        for (int64_t t = 0; t < rows->states; t++) {
            lowest = allowed(rows, row, t) ? fminl(lowest, cost(rows, row, t)) : lowest;
        }
        for (int64_t t = 0; t < rows->states && rows->alpha[row] > 0; t++) {
            const long double phat = rows->phat[row * rows->states + t];
            const long double rise = phat > 0 ? cost(rows, row, t) - lowest : 0;
            moves[row * rows->states + t] =
                (move){rise * rows->weight[row] * rows->alpha[row] / 2, 2 * phat / rows->alpha[row]};
        }
    }
    const long double gain = take_best(rows->count * rows->states, moves, rows->beta);
    free(moves);
    return (double)gain;
}

/* p = infinity: the row starts with everything as low as it may be, and gives the rest to the smallest v. */
static double gain_infinity(const test_naive_rows *rows)
{
    move *moves = test_new(rows->states, sizeof *moves);
    long double gain = 0;
    for (int64_t row = 0; row < rows->count; row++) {
        const long double r = rows->alpha[row] * (long double)rows->beta;
        long double left = 0;
        long double mean = 0;
        long double start = 0;
        for (int64_t t = 0; t < rows->states; t++) {
            const long double phat = rows->phat[row * rows->states + t];
            const long double least = fmaxl(0, phat - r);
            moves[t] = (move){-cost(rows, row, t), allowed(rows, row, t) ? phat + r - least : 0};
            mean += phat * cost(rows, row, t);
            start += least * cost(rows, row, t);
            left += phat - least;
        }
        gain += rows->weight[row] * (mean - start + take_best(rows->states, moves, left));
    }
    free(moves);
    return (double)gain;
}

double test_naive_gain(const test_naive_rows *rows)
{
    return rows->p == 1 ? gain_one(rows) : isinf(rows->p) ? gain_infinity(rows) : gain_power(rows);
}
