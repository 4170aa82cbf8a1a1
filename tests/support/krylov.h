/*
 * krylov.h: the matrix-free backend set up on small models of every shape. Include support/support.h first.
 */
#ifndef NADIR_TESTS_KRYLOV_H
#define NADIR_TESTS_KRYLOV_H

#include "solve/backend.h"
#include "support/setting.h"

#define TEST_KRYLOV_SEED 577

typedef struct test_shape {
    const char *name;
    nadir_model *(*make)(nadir_context *context);
} test_shape;

#define TEST_SHAPES 10
extern const test_shape test_shapes[TEST_SHAPES];

/* The same by name. */
nadir_model *test_shape_make(nadir_context *context, const char *name);

/* For test_sparse_model: to the next state, and from the last to the first. */
int64_t test_row_cycle(int64_t states, int64_t state, int32_t *columns);

/* A model with the backend set up on it, which keeps the address of the average: it stays where it is. */
typedef struct test_krylov {
    test_setting setting;
    nadir_context *context;
    void *self;
    int64_t states;
    double *b; /* [states * sides] test_krylov_sides */
    double *x; /* [states * sides] zeros */
} test_krylov;

/* Takes the context and the model over. */
void test_krylov_make(test_krylov *made, nadir_context *context, nadir_model *model, double gamma,
                      int64_t sides);
void test_krylov_clear(test_krylov *made);

/* Sets the backend up once more. */
void test_krylov_set_up(test_krylov *made, double gamma);

/* nadir_backend_krylov.solve from zero; x: [states * count]. */
nadir_status test_krylov_solve(test_krylov *made, bool transposed, int64_t count, const double *b,
                               double residual, double *x);

/* Products with M so far. */
int64_t test_krylov_products(const test_krylov *made);

/* Maximum norm, 1-norm if transposed. */
double test_krylov_norm(bool transposed, int64_t count, const double *x);

/* |b - A x| in that norm, computed without the backend. */
double test_krylov_residual(const test_krylov *made, double gamma, bool transposed, const double *b,
                            const double *x);

/* x solves A x = b, or A^T x = b, to 1e-10 of the largest entry of the solution. */
void test_krylov_assert_near(const test_krylov *made, const char *what, double gamma, bool transposed,
                             const double *b, const double *x);

/* Right-hand sides in turn: random in [0, 1], all one, a point mass, of both signs: [states * count]. To be
 * freed. */
#define TEST_KRYLOV_SIDES 4
double *test_krylov_sides(int64_t states, int64_t count);

#endif
