/*
 * solver.c: systems with I - gamma M solved by PETSc; see core/engine.h.
 *
 * The matrix is assembled once as MPIAIJ; KSP and PC are BiCGSTAB with PETSc's default preconditioner unless
 * the user's options say otherwise (-ksp_type, -pc_type, ...). PETSc measures residuals in the 2-norm:
 * |r|_max <= |r|_2 and |r|_1 <= sqrt(S) |r|_2 are what is asked of it.
 */
#include "engine.h"

#include <math.h>
#include <petscksp.h>
#include <stdlib.h>

enum { PRODUCTS_A_STEP = 2, STEPS = 10000 };

typedef struct solver {
    petsc_engine *engine;
    double total;
    Mat matrix;
    KSP ksp;
    Vec b, x;
} solver;

/* Keeps the error of a call of PETSc and goes to `cleanup`. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        code = (call);                                                                                       \
        if (code != 0) {                                                                                     \
            goto cleanup;                                                                                    \
        }                                                                                                    \
    } while (0)

static nadir_status translate(const petsc_engine *engine, nadir_context *context, PetscErrorCode code)
{
    if (code == 0) {
        return NADIR_OK;
    }
    const char *text = NULL;
    PetscErrorMessage(code, &text, NULL);
    return engine->host->fail(context, code == PETSC_ERR_MEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_NOT_CONVERGED,
                              "PETSc: %s", text != NULL ? text : "an error without a name");
}

void petsc_solver_destroy(void *made)
{
    solver *self = made;
    if (self != NULL) {
        KSPDestroy(&self->ksp);
        MatDestroy(&self->matrix);
        VecDestroy(&self->b);
        VecDestroy(&self->x);
        free(self);
    }
}

static int64_t global_place(const nadir_engine_matrix *matrix, int32_t column)
{
    return column < matrix->count ? matrix->first + column : matrix->ghosts[column - matrix->count];
}

/* Entries of each row within the own columns and beyond, the diagonal included. */
static void count_entries(const nadir_engine_matrix *matrix, PetscInt *inside, PetscInt *outside)
{
    for (int64_t s = 0; s < matrix->count; s++) {
        inside[s] = 1;
        outside[s] = 0;
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            inside[s] += matrix->columns[i] < matrix->count && matrix->columns[i] != s;
            outside[s] += matrix->columns[i] >= matrix->count;
        }
    }
}

/* I - gamma M */
static PetscErrorCode assemble(solver *self, const nadir_engine_matrix *matrix, double gamma)
{
    PetscErrorCode code = 0;
    PetscInt *counts = malloc(2 * (size_t)(matrix->count + 1) * sizeof *counts);
    if (counts == NULL) {
        return PETSC_ERR_MEM;
    }
    count_entries(matrix, counts, counts + matrix->count);
    TRY(MatCreateAIJ(self->engine->solvers, matrix->count, matrix->count, matrix->total, matrix->total, 0,
                     counts, 0, counts + matrix->count, &self->matrix));
    for (int64_t s = 0; s < matrix->count; s++) {
        const PetscInt row = matrix->first + s;
        TRY(MatSetValue(self->matrix, row, row, 1, ADD_VALUES));
        for (int64_t i = matrix->starts[s]; i < matrix->starts[s + 1]; i++) {
            TRY(MatSetValue(self->matrix, row, global_place(matrix, matrix->columns[i]),
                            -gamma * matrix->values[i], ADD_VALUES));
        }
    }
    TRY(MatAssemblyBegin(self->matrix, MAT_FINAL_ASSEMBLY));
    TRY(MatAssemblyEnd(self->matrix, MAT_FINAL_ASSEMBLY));
cleanup:
    free(counts);
    return code;
}

static PetscErrorCode prepare(solver *self, const nadir_engine_matrix *matrix, double gamma)
{
    PetscErrorCode code = 0;
    MPI_Comm comm = self->engine->solvers;
    TRY(assemble(self, matrix, gamma));
    TRY(VecCreateMPIWithArray(comm, 1, matrix->count, matrix->total, NULL, &self->b));
    TRY(VecCreateMPIWithArray(comm, 1, matrix->count, matrix->total, NULL, &self->x));
    TRY(KSPCreate(comm, &self->ksp));
    TRY(KSPSetOperators(self->ksp, self->matrix, self->matrix));
    TRY(KSPSetType(self->ksp, KSPBCGS));
    TRY(KSPSetPCSide(self->ksp, PC_RIGHT));
    TRY(KSPSetNormType(self->ksp, KSP_NORM_UNPRECONDITIONED));
    TRY(KSPSetInitialGuessNonzero(self->ksp, PETSC_TRUE));
    TRY(KSPSetFromOptions(self->ksp));
cleanup:
    return code;
}

nadir_status petsc_solver_setup(void *self, nadir_context *context, const nadir_engine_matrix *matrix,
                                double gamma, void **made)
{
    petsc_engine *engine = self;
    solver *system = calloc(1, sizeof *system);
    if (system == NULL) {
        return engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
    }
    system->engine = engine;
    system->total = (double)matrix->total;
    const nadir_status status = translate(engine, context, prepare(system, matrix, gamma));
    if (status != NADIR_OK) {
        petsc_solver_destroy(system);
        return status;
    }
    *made = system;
    return NADIR_OK;
}

nadir_status petsc_solver_solve(void *made, nadir_context *context, bool transposed, const double *b,
                                double residual, double *x, int64_t *products)
{
    solver *self = made;
    PetscErrorCode code = 0;
    PetscInt steps = 0;
    KSPConvergedReason reason = 0;
    petsc_check_call(self->engine, transposed ? "solve transposed" : "solve", -1);
    const double goal = transposed ? residual / sqrt(self->total) : residual;
    TRY(KSPSetTolerances(self->ksp, 1e-50, goal, PETSC_DEFAULT, STEPS));
    TRY(VecPlaceArray(self->b, b));
    TRY(VecPlaceArray(self->x, x));
    code =
        transposed ? KSPSolveTranspose(self->ksp, self->b, self->x) : KSPSolve(self->ksp, self->b, self->x);
    VecResetArray(self->b);
    VecResetArray(self->x);
    TRY(code);
    TRY(KSPGetConvergedReason(self->ksp, &reason));
    TRY(KSPGetIterationNumber(self->ksp, &steps));
cleanup:
    *products = PRODUCTS_A_STEP * (int64_t)steps;
    if (code == 0 && reason < 0) {
        return self->engine->host->fail(context, NADIR_ERROR_NOT_CONVERGED,
                                        "PETSc's iteration stopped after %lld steps: %s", (long long)steps,
                                        KSPConvergedReasons[reason]);
    }
    return translate(self->engine, context, code);
}
