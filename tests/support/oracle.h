/*
 * oracle.h: what the worst kernel of a set costs, for tiny models, by brute force. Include support/support.h
 * first.
 *
 * Nothing here knows any theory: returns are solved for in long double by dense elimination, sets are tested
 * entry by entry from their definition, and the worst kernel is looked for over all entries of all rows, by a
 * general-purpose optimiser (SLSQP of NLopt) from random starts. What it finds is attained; whether it is the
 * worst is not known.
 */
#ifndef NADIR_TESTS_ORACLE_H
#define NADIR_TESTS_ORACLE_H

#include "core/random.h"
#include "nadir.h"

/*
 * Policy and set in plain numbers. Every row that can move belongs to one ball: the only one, that of its
 * state, or its own:
 *
 *     sum over the rows of the ball of (|P_sa - Phat_sa|_p / alpha_sa)^p <= radii[ball]^p
 */
typedef struct test_oracle {
    int64_t states, rows, balls;
    double gamma, p;
    nadir_domain domain;
    int64_t *row_states; /* [rows] */
    int64_t *row_balls;  /* [rows]; -1: the row cannot move */
    double *nominal;     /* [rows * states] */
    double *policy;      /* [rows] */
    double *rewards;     /* [rows] */
    double *paid;        /* [rows * states] r(s, a, s'), paid on landing; NULL: `rewards` are paid */
    double *mu;          /* [states] */
    double *scales;      /* [rows] */
    double *radii;       /* [balls] */
    /* Another policy on the same set: all returns are less its return. Not owned; NULL: none. */
    const struct test_oracle *less;
} test_oracle;

/* The ball says set, domain, norm and radius; scales NULL: the model's, else all one. */
test_oracle test_oracle_make(const nadir_model *model, const nadir_policy *policy, const nadir_ball *ball);
void test_oracle_clear(test_oracle *oracle);

/* mu . v of a kernel [rows * states]; NaN where I - gamma P^pi is singular, or its determinant negative: no
 * path of regular kernels leads there from the nominal one. value [states]: v, unless NULL. */
double test_oracle_return(const test_oracle *oracle, const double *kernel, double *value);

/* The return and its derivative by every entry, G_sa = d(s) pi(a|s) (r_sa + gamma v): [rows * states]. */
double test_oracle_gradient(const test_oracle *oracle, const double *kernel, double *gradient);

/* How far a kernel is outside: the largest of the errors of the row sums, of the entries that should be 0 or
 * more or the nominal ones, and of the norms of the balls relative to their radii. 0: inside. */
double test_oracle_excess(const test_oracle *oracle, const double *kernel);

/* Pulls a kernel that is nearly in the set into it: rows into the domain, then towards the nominal ones. */
void test_oracle_pull(const test_oracle *oracle, double *kernel);

/* A kernel of the set, of one of many kinds: dense and sparse changes, a few rows or all, mass moved between
 * two states, rank one, with the values or against them row by row; half of them at the very border. */
void test_oracle_random(const test_oracle *oracle, nadir_random *random, double *kernel);

/* The lowest return found, from this many starts; kernel: [rows * states] where it is attained. */
double test_oracle_worst(const test_oracle *oracle, nadir_random *random, int starts, double *kernel);

#endif
