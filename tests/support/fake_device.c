/* fake_device.c: see fake_device.h. */
#include "support/support.h"

#include "support/fake_device.h"

#include "core/context.h"
#include "core/device.h"
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOMS = 16, MOST_PRODUCTS = 100000 };

/* Memory of the device: what is taken of it is open during its calls alone. */
static struct {
    double *vectors[ROOMS];
    size_t bytes[ROOMS];
} rooms;

static void allow(int what)
{
    for (int i = 0; i < ROOMS; i++) {
        if (rooms.vectors[i] != NULL) {
            assert_int_equal(mprotect(rooms.vectors[i], rooms.bytes[i], what), 0);
        }
    }
}

static void enter(void)
{
    allow(PROT_READ | PROT_WRITE);
}

static nadir_status leave(void)
{
    allow(PROT_NONE);
    return NADIR_OK;
}

static void memory(const void *self, double *taken, double *left)
{
    (void)self;
    *taken = 0;
    for (int i = 0; i < ROOMS; i++) {
        *taken += (double)rooms.bytes[i];
    }
    *left = 1e12;
}

static nadir_status room_take(void *self, nadir_context *context, int64_t numbers, double **vectors)
{
    int i = 0;
    (void)self;
    (void)context;
    while (i < ROOMS - 1 && rooms.vectors[i] != NULL) {
        i++;
    }
    assert_null(rooms.vectors[i]);
    rooms.bytes[i] = (size_t)numbers * sizeof **vectors;
    void *made = mmap(NULL, rooms.bytes[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(made != MAP_FAILED);
    *vectors = rooms.vectors[i] = made;
    return NADIR_OK;
}

static void room_give(void *self, int64_t numbers, double *vectors)
{
    int i = 0;
    (void)self;
    while (i < ROOMS - 1 && rooms.vectors[i] != vectors) {
        i++;
    }
    assert_true(rooms.vectors[i] == vectors && rooms.bytes[i] == (size_t)numbers * sizeof *vectors);
    assert_int_equal(munmap(vectors, rooms.bytes[i]), 0);
    rooms.vectors[i] = NULL;
    rooms.bytes[i] = 0;
}

static nadir_status room_copy(void *self, nadir_context *context, int64_t count, const double *from,
                              double *to)
{
    (void)self;
    (void)context;
    enter();
    memcpy(to, from, (size_t)count * sizeof *to);
    return leave();
}

static nadir_status room_dots(void *self, nadir_context *context, int64_t count, int many,
                              const double *vectors, const double *x, double *dots)
{
    (void)self;
    (void)context;
    assert_true(many <= NADIR_DEVICE_MOST_VECTORS);
    enter();
    for (int j = 0; j < many; j++) {
        long double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += (long double)vectors[j * count + i] * x[i];
        }
        dots[j] = (double)sum;
    }
    return leave();
}

static nadir_status room_add(void *self, nadir_context *context, int64_t count, int many,
                             const double *vectors, const double *factors, double *y)
{
    (void)self;
    (void)context;
    assert_true(many <= NADIR_DEVICE_MOST_VECTORS);
    enter();
    for (int j = 0; j < many; j++) {
        for (int64_t i = 0; i < count; i++) {
            y[i] += factors[j] * vectors[j * count + i];
        }
    }
    return leave();
}

static nadir_status room_scale(void *self, nadir_context *context, int64_t count, double a, const double *x,
                               double *y)
{
    (void)self;
    (void)context;
    enter();
    for (int64_t i = 0; i < count; i++) {
        y[i] = a * x[i];
    }
    return leave();
}

static nadir_status room_weigh(void *self, nadir_context *context, int64_t count, const double *w,
                               const double *x, double *y)
{
    (void)self;
    (void)context;
    enter();
    for (int64_t i = 0; i < count; i++) {
        y[i] = w[i] * x[i];
    }
    return leave();
}

static nadir_status room_rotate(void *self, nadir_context *context, int64_t count, int many, int kept,
                                const double *matrix, double *vectors)
{
    double sums[NADIR_DEVICE_MOST_VECTORS];
    (void)self;
    (void)context;
    assert_true(many <= NADIR_DEVICE_MOST_VECTORS && kept <= many);
    enter();
    for (int64_t i = 0; i < count; i++) {
        for (int j = 0; j < kept; j++) {
            sums[j] = 0;
            for (int k = 0; k < many; k++) {
                sums[j] += matrix[j * many + k] * vectors[k * count + i];
            }
        }
        for (int j = 0; j < kept; j++) {
            vectors[j * count + i] = sums[j];
        }
    }
    return leave();
}

/* Rows, with the numbers of another kernel in their places, or NULL. */
typedef struct numbers {
    int64_t entries, rows;
    double *values;
    bool *nominal;
} numbers;

static int64_t length_of(const nadir_device_rows *rows, int64_t row)
{
    return rows->dense != NULL ? rows->states : rows->starts[row + 1] - rows->starts[row];
}

static int64_t first_of(const nadir_device_rows *rows, int64_t row)
{
    return rows->dense != NULL ? row * rows->states : rows->starts[row];
}

static nadir_status keep(void *self, nadir_context *context, const nadir_device_rows *rows, void **kept)
{
    nadir_device_rows *made = test_new(1, sizeof *made);
    (void)self;
    (void)context;
    *made = *rows; /* the model outlives it */
    *kept = made;
    return NADIR_OK;
}

static nadir_status put(void *kept, nadir_context *context, const nadir_device_perturbed *from, void **made)
{
    const nadir_device_rows *rows = kept;
    numbers *to = test_new(1, sizeof *to);
    (void)context;
    to->rows = rows->rows;
    to->entries = first_of(rows, rows->rows);
    assert_null(from->x); /* nothing spread */
    to->values = test_new(to->entries, sizeof *to->values);
    to->nominal = test_new(to->rows, sizeof *to->nominal);
    memcpy(to->values, from->values, (size_t)to->entries * sizeof *to->values);
    memcpy(to->nominal, from->nominal, (size_t)to->rows * sizeof *to->nominal);
    *made = to;
    return NADIR_OK;
}

static void forget(void *made)
{
    numbers *of = made;
    free(of->values);
    free(of->nominal);
    free(of);
}

static nadir_status bring(const void *made, nadir_context *context, const nadir_device_perturbed *to)
{
    const numbers *of = made;
    (void)context;
    memcpy(to->values, of->values, (size_t)of->entries * sizeof *of->values);
    memcpy(to->nominal, of->nominal, (size_t)of->rows * sizeof *of->nominal);
    return NADIR_OK;
}

/* M, entries of one place apart from each other. */
typedef struct matrix {
    int64_t states;
    int64_t *starts;
    int32_t *columns;
    double *values;
} matrix;

static void release(void *made)
{
    matrix *of = made;
    free(of->starts);
    free(of->columns);
    free(of->values);
    free(of);
}

static void make_matrix(const nadir_device_rows *rows, const numbers *other, const double *probabilities,
                        void **to, nadir_device_facts *facts)
{
    matrix *made = test_new(1, sizeof *made);
    const int64_t entries = first_of(rows, rows->rows);
    const double *values = rows->dense != NULL ? rows->dense : rows->values;
    int64_t next = 0;
    made->states = rows->states;
    made->starts = test_new(rows->states + 1, sizeof *made->starts);
    made->columns = test_new(entries + 1, sizeof *made->columns);
    made->values = test_new(entries + 1, sizeof *made->values);
    *facts = (nadir_device_facts){.entries = entries};
    for (int64_t s = 0; s < rows->states; s++) {
        const int64_t first = rows->state_rows != NULL ? rows->state_rows[s] : s;
        const int64_t end = rows->state_rows != NULL ? rows->state_rows[s + 1] : s + 1;
        double norm = 0;
        made->starts[s] = next;
        for (int64_t row = first; row < end; row++) {
            const double *own = other == NULL || other->nominal[row] ? values : other->values;
            for (int64_t i = 0; i < length_of(rows, row); i++) {
                const int64_t from = first_of(rows, row) + i;
                made->columns[next] = rows->dense != NULL ? (int32_t)i : rows->columns[from];
                made->values[next] = (probabilities != NULL ? probabilities[row] : 1) * own[from];
                norm += fabs(made->values[next++]);
            }
        }
        facts->norm = fmax(facts->norm, norm);
        facts->longest = next - made->starts[s] > facts->longest ? next - made->starts[s] : facts->longest;
    }
    made->starts[rows->states] = next;
    *to = made;
}

static nadir_status average(void *kept, nadir_context *context, const double *probabilities, void **to,
                            nadir_device_facts *facts)
{
    (void)context;
    make_matrix(kept, NULL, probabilities, to, facts);
    return NADIR_OK;
}

static nadir_status average_values(void *kept, nadir_context *context, const void *values,
                                   const double *probabilities, void **to, nadir_device_facts *facts)
{
    (void)context;
    make_matrix(kept, values, probabilities, to, facts);
    return NADIR_OK;
}

static nadir_status upload(void *self, nadir_context *context, const nadir_device_rows *rows, void **to,
                           nadir_device_facts *facts)
{
    (void)self;
    (void)context;
    make_matrix(rows, NULL, NULL, to, facts);
    return NADIR_OK;
}

static bool longest_transposed(const void *of, int64_t *longest)
{
    *longest = ((const matrix *)of)->starts[((const matrix *)of)->states];
    return true;
}

/* y <- M x */
static void multiply(const matrix *of, bool transposed, const double *x, double *y)
{
    memset(y, 0, (size_t)of->states * sizeof *y);
    for (int64_t s = 0; s < of->states; s++) {
        for (int64_t i = of->starts[s]; i < of->starts[s + 1]; i++) {
            const int64_t t = of->columns[i];
            y[transposed ? t : s] += of->values[i] * x[transposed ? s : t];
        }
    }
}

static nadir_status combine(void *of, nadir_context *context, bool transposed, int64_t count, double shift,
                            double scale, const double *x, double *y)
{
    const int64_t n = ((const matrix *)of)->states;
    (void)context;
    enter();
    for (int64_t j = 0; j < count; j++) {
        multiply(of, transposed, x + j * n, y + j * n);
        for (int64_t i = j * n; i < (j + 1) * n; i++) {
            y[i] = shift * x[i] + scale * y[i];
        }
    }
    return leave();
}

static double norm_of(bool transposed, int64_t count, const double *x)
{
    double sum = 0;
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += fabs(x[i]);
        largest = fmax(largest, fabs(x[i]));
    }
    return transposed ? sum : largest;
}

/* By the contraction x <- b + gamma M x. */
static nadir_status iterate(void *of, nadir_context *context, const nadir_device_system *system,
                            const double *b, double *x, nadir_device_solve_result *outcome)
{
    const int64_t n = ((const matrix *)of)->states;
    double *r = test_new(n, sizeof *r);
    double wanted;
    (void)context;
    enter();
    if (system->fresh) {
        memset(x, 0, (size_t)n * sizeof *x);
    }
    *outcome = (nadir_device_solve_result){.b_norm = norm_of(system->transposed, n, b)};
    do {
        multiply(of, system->transposed, x, r);
        outcome->products++;
        for (int64_t i = 0; i < n; i++) {
            r[i] = b[i] - x[i] + system->gamma * r[i];
        }
        outcome->residual = norm_of(system->transposed, n, r);
        outcome->x_norm = norm_of(system->transposed, n, x);
        wanted = system->residual > 0 ? system->residual
                                      : fmax(system->relative * outcome->x_norm,
                                             system->least * (outcome->b_norm + 2 * outcome->x_norm));
        for (int64_t i = 0; i < n && outcome->residual > wanted; i++) {
            x[i] += r[i];
        }
    } while (outcome->residual > wanted && outcome->products < MOST_PRODUCTS);
    free(r);
    return leave();
}

static nadir_status iterate_many(void *of, nadir_context *context, const nadir_device_system *system,
                                 int64_t count, const double *b, double *x,
                                 nadir_device_solve_result *outcomes)
{
    const int64_t n = ((const matrix *)of)->states;
    for (int64_t j = 0; j < count; j++) {
        (void)iterate(of, context, system, b + j * n, x + j * n, &outcomes[j]);
    }
    return NADIR_OK;
}

/* The arrays of the ball outlive it. */
typedef struct step {
    const nadir_device_rows *rows;
    nadir_device_ball ball;
} step;

static nadir_status step_open(void *kept, nadir_context *context, const nadir_device_ball *ball, void **made)
{
    const nadir_device_rows *rows = kept;
    (void)context;
    *made = NULL;
    if (rows->dense == NULL && !ball->simplex && ball->shares == NADIR_DEVICE_ALL_ROWS) {
        step *opened = test_new(1, sizeof *opened);
        *opened = (step){rows, *ball};
        *made = opened;
    }
    return NADIR_OK;
}

static nadir_status step_answer(void *of, nadir_context *context, double beta, const double *x,
                                const double *d, nadir_device_lmo_result *answer)
{
    (void)of;
    (void)context;
    (void)beta;
    (void)x;
    (void)d;
    *answer = (nadir_device_lmo_result){0};
    return NADIR_OK;
}

static nadir_status step_centred(void *self, nadir_context *context, const double *y, const double *z,
                                 double *sums)
{
    const step *of = self;
    const nadir_device_rows *rows = of->rows;
    (void)context;
    enter();
    memset(sums, 0, (size_t)rows->states * sizeof *sums);
    for (int64_t s = 0; s < rows->states; s++) {
        for (int64_t row = rows->state_rows[s]; row < rows->state_rows[s + 1]; row++) {
            const double alpha = of->ball.scales != NULL ? of->ball.scales[row] : 1;
            const double q = of->ball.gamma * y[s] * alpha * of->ball.probabilities[row];
            double sum = 0;
            double count = 0;
            for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
                sum += rows->values[i] > 0 ? z[rows->columns[i]] : 0;
                count += rows->values[i] > 0;
            }
            for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++) {
                sums[rows->columns[i]] +=
                    rows->values[i] > 0 ? q * q * (z[rows->columns[i]] - sum / count) : 0;
            }
        }
    }
    return leave();
}

/* What it does not do. */
static nadir_status refuse(nadir_context *context)
{
    return nadir_fail(context, NADIR_ERROR_UNSUPPORTED, "the pretended device does not do that");
}

static nadir_status no_product(void *kept, nadir_context *context, const double *x, double *y)
{
    (void)kept;
    (void)x;
    (void)y;
    return refuse(context);
}

static nadir_status no_minimum(void *kept, nadir_context *context, const double *b, const double *k,
                               double *minimum)
{
    (void)kept;
    (void)b;
    (void)k;
    (void)minimum;
    return refuse(context);
}

static nadir_status no_vector(void *self, nadir_context *context, int64_t count, const double *x,
                              void **vector)
{
    (void)self;
    (void)count;
    (void)x;
    (void)vector;
    return refuse(context);
}

void test_pretend_device(nadir_context *context)
{
    static const nadir_device device = {
        .memory = memory,
        .rows_upload = keep,
        .rows_free = free,
        .rows_multiply = no_product,
        .rows_minimum = no_minimum,
        .average = average,
        .average_perturbed = average_values,
        .perturbed_upload = put,
        .perturbed_free = forget,
        .perturbed_download = bring,
        .matrix_upload = upload,
        .matrix_free = release,
        .matrix_combine = combine,
        .matrix_longest_column = longest_transposed,
        .lmo_create = step_open,
        .lmo_free = free,
        .lmo_solve = step_answer,
        .lmo_centred_product = step_centred,
        .bicgstab_solve = iterate,
        .bicgstab_solve_many = iterate_many,
        .gstd_upload = no_vector,
        .vec_alloc = room_take,
        .vec_free = room_give,
        .vec_copy = room_copy,
        .vec_dots = room_dots,
        .vec_add = room_add,
        .vec_scale = room_scale,
        .vec_weigh = room_weigh,
        .vec_rotate = room_rotate,
    };
    static int self;
    if (context->device == NULL) {
        context->device = &device;
        context->device_self = &self;
    }
}
