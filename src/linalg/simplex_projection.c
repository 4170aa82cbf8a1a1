/*
 * simplex_projection.c: projection onto the simplex; see simplex_projection.h.
 *
 * theta solves sum max(x - theta, 0) = 1. With the n largest entries counted in, theta_n = (their sum - 1) /
 * n; the set is right when its smallest entry is above theta_n and the next one is not. Entries are dropped
 * until that holds (Michelot): each round is a pass over what is left, and theta only rises. What is by one
 * below the largest is dropped before the first: theta is not lower than that.
 */
#include "linalg/vector.h"

#include <math.h>

void nadir_simplex_project(int64_t count, double *x, double *room)
{
    double largest = -INFINITY;
    int64_t left = 0;
    int64_t before;
    double theta;
    for (int64_t i = 0; i < count; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    for (int64_t i = 0; i < count; i++) { /* from the largest on: nothing is lost to a common part */
        x[i] -= largest;
        room[left] = x[i];
        left += !(x[i] <= -1);
    }
    do {
        double sum = 0;
        before = left;
        left = 0;
        for (int64_t i = 0; i < before; i++) {
            sum += room[i];
        }
        theta = (sum - 1) / (double)before;
        for (int64_t i = 0; i < before; i++) {
            if (room[i] > theta) {
                room[left++] = room[i];
            }
        }
    } while (left < before);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        x[i] = x[i] > theta ? x[i] - theta : 0;
        sum += x[i];
    }
    for (int64_t i = 0; i < count; i++) {
        x[i] /= sum;
    }
}
