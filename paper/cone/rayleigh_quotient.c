/*
 * rayleigh_quotient.c: the generalised Rayleigh quotient c^T G c / c^T M c in three dimensions; see
 * great_circle.h.
 *
 * Its maximum exceeds `level` unless level M - G is positive definite, that is unless the three leading
 * minors of that matrix are positive. With M = L L^T the eigenvectors of G c = mu M c are c = L^-T y for the
 * eigenvectors y of L^-1 G L^-T.
 */
#include "cone/great_circle.h"

#include <math.h>

#define LEAST 1e-6 /* diagonal entry of L: below, M is singular */

bool nadir_rayleigh_exceeds(const double G[9], const double M[9], double level)
{
    double Q[9];
    for (int i = 0; i < 9; i++) {
        Q[i] = level * M[i] - G[i];
    }
    const double minor = Q[0] * Q[4] - Q[1] * Q[3];
    const double determinant = Q[0] * (Q[4] * Q[8] - Q[5] * Q[7]) - Q[1] * (Q[3] * Q[8] - Q[5] * Q[6]) +
                               Q[2] * (Q[3] * Q[7] - Q[4] * Q[6]);
    return !(Q[0] > 0 && minor > 0 && determinant > 0);
}

bool nadir_rayleigh_maximize(const double G[9], const double M[9], double c[3], double *mu)
{
    double L[9] = {0}; /* the inverse of the Cholesky factor of M */
    double C[9];
    double values[3];
    double work[NADIR_SYMMETRIC_WORK(3)];
    const double l00 = sqrt(M[0]);
    const double l10 = M[3] / l00;
    const double l20 = M[6] / l00;
    const double l11 = sqrt(M[4] - l10 * l10);
    const double l21 = (M[7] - l20 * l10) / l11;
    const double l22 = sqrt(M[8] - l20 * l20 - l21 * l21);
    if (!(l00 > LEAST && l11 > LEAST && l22 > LEAST)) {
        return false;
    }
    L[0] = 1 / l00;
    L[4] = 1 / l11;
    L[8] = 1 / l22;
    L[3] = -l10 * L[0] * L[4];
    L[7] = -l21 * L[4] * L[8];
    L[6] = -(l20 * L[0] + l21 * L[3]) * L[8];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) { /* C = L^-1 G L^-T */
            C[i * 3 + j] = 0;
            for (int k = 0; k < 9; k++) {
                C[i * 3 + j] += L[i * 3 + k / 3] * G[k] * L[j * 3 + k % 3];
            }
        }
    }
    if (!nadir_symmetric_eigen(3, C, values, work)) {
        return false;
    }
    for (int i = 0; i < 3; i++) { /* c = L^-T y */
        c[i] = L[i] * C[6] + L[3 + i] * C[7] + L[6 + i] * C[8];
    }
    *mu = values[2];
    return true;
}
