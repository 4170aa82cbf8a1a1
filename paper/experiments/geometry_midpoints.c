/*
 * geometry_midpoints.c: is the middle of two points of {D^pi H^pi} a point of it? See geometry.h.
 *
 * A matrix M of the hull has rows of visits, so row s has the policy pi_s(a|t) = M(s, (t, a)) / sum over a.
 * It lies in the set exactly when all rows have the same. Its distance from the set is found by
 * Gauss-Newton iterations with the derivative (Sherman and Morrison)
 *
 *     dM / dpi(0|t) = D e_t (gamma (P(.|t, 0) - P(.|t, 1)) M + e_(t,0) - e_(t,1))
 */
#include "geometry.h"

#include <math.h>

enum { N = GEOMETRY_ENTRIES, S = GEOMETRY_STATES, ROWS = GEOMETRY_ROWS, STEPS = 60, BLOCK = 256 };

/* pi(0|t) of one row. */
static void row_policy(const double *point, int s, double chance[GEOMETRY_STATES])
{
    for (int t = 0; t < S; t++) {
        const double first = point[s * ROWS + 2 * t];
        const double sum = first + point[s * ROWS + 2 * t + 1];
        chance[t] = sum > 0 ? fmin(1, fmax(0, first / sum)) : 0.5;
    }
}

double geometry_disagreement(const double point[GEOMETRY_ENTRIES])
{
    double chances[S][S];
    double most = 0;
    for (int s = 0; s < S; s++) {
        row_policy(point, s, chances[s]);
        for (int other = 0; other < s; other++) {
            for (int t = 0; t < S; t++) {
                most = fmax(most, fabs(chances[s][t] - chances[other][t]));
            }
        }
    }
    return most;
}

static double squared_distance(const double *point, const double *target)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += (point[i] - target[i]) * (point[i] - target[i]);
    }
    return sum;
}

/* slopes[t]: dM / dpi(0|t). */
static void derivative(const geometry_model *model, const double *point, double slopes[GEOMETRY_STATES][N])
{
    for (int t = 0; t < S; t++) {
        double line[ROWS] = {0};
        for (int u = 0; u < S; u++) {
            const double change = model->kernel[2 * t][u] - model->kernel[2 * t + 1][u];
            for (int row = 0; row < ROWS; row++) {
                line[row] += model->discount * change * point[u * ROWS + row];
            }
        }
        line[2 * t] += 1;
        line[2 * t + 1] -= 1;
        for (int s = 0; s < S; s++) {
            const double visits = point[s * ROWS + 2 * t] + point[s * ROWS + 2 * t + 1];
            for (int row = 0; row < ROWS; row++) {
                slopes[t][s * ROWS + row] = visits * line[row];
            }
        }
    }
}

/* The damped least-squares step; coordinates at a bound stay if the step would leave the box. */
static void damped_step(double slopes[GEOMETRY_STATES][N], const double *point, const double *target,
                        const double *chance, double damping, double step[GEOMETRY_STATES])
{
    double A[S][S + 1];
    for (int i = 0; i < S; i++) {
        double pull = 0;
        for (int n = 0; n < N; n++) {
            pull += slopes[i][n] * (target[n] - point[n]);
        }
        const bool stays = (chance[i] <= 0 && pull < 0) || (chance[i] >= 1 && pull > 0);
        for (int j = 0; j < S; j++) {
            A[i][j] = 0;
            for (int n = 0; n < N; n++) {
                A[i][j] += stays ? 0 : slopes[i][n] * slopes[j][n];
            }
        }
        A[i][i] = stays ? 1 : A[i][i] * (1 + damping);
        A[i][S] = stays ? 0 : pull;
    }
    for (int k = 0; k < S; k++) { /* symmetric and positive but for rows that stay: no pivoting */
        for (int i = 0; i < S; i++) {
            const double factor = A[i][k] / A[k][k];
            for (int j = k; i != k && j <= S; j++) {
                A[i][j] -= factor * A[k][j];
            }
        }
    }
    for (int i = 0; i < S; i++) {
        step[i] = A[i][S] / A[i][i];
    }
}

/* The squared distance found from one start, by Levenberg-Marquardt steps within the box. */
static double descend(const geometry_model *model, const double *target, const double *start)
{
    double chance[S] = {start[0], start[1], start[2]};
    double point[N];
    double damping = 1e-3;
    geometry_point(model, chance, point);
    double best = squared_distance(point, target);
    for (int k = 0; k < STEPS && damping < 1e9 && best > 0; k++) {
        double slopes[S][N];
        double step[S];
        double moved[S];
        double index[N];
        derivative(model, point, slopes);
        damped_step(slopes, point, target, chance, damping, step);
        for (int s = 0; s < S; s++) {
            moved[s] = fmin(1, fmax(0, chance[s] + step[s]));
        }
        geometry_point(model, moved, index);
        const double found = squared_distance(index, target);
        const bool better = found < best;
        for (int s = 0; better && s < S; s++) {
            chance[s] = moved[s];
        }
        for (int i = 0; better && i < N; i++) {
            point[i] = index[i];
        }
        const bool settled = better && found > best * (1 - 1e-14);
        best = better ? found : best;
        damping = settled ? INFINITY : better ? damping * 0.1 : damping * 10;
    }
    return best;
}

double geometry_distance(const geometry_model *model, const double target[GEOMETRY_ENTRIES])
{
    const double middle[S] = {0.5, 0.5, 0.5};
    double best = descend(model, target, middle);
    for (int s = 0; s < S; s++) {
        double chance[S];
        row_policy(target, s, chance);
        best = fmin(best, descend(model, target, chance));
    }
    return sqrt(best);
}

/* The state that is `rank`-th in a random order, so that each of them differs equally often. */
static void draw_pair(nadir_random *random, int differing, double first[GEOMETRY_STATES],
                      double second[GEOMETRY_STATES])
{
    const int shift = (int)nadir_random_below(random, S);
    geometry_policy_draw(random, first);
    geometry_policy_draw(random, second);
    for (int rank = differing; rank < S; rank++) {
        const int s = (rank + shift) % S;
        second[s] = first[s];
    }
}

nadir_status geometry_midpoints_test(nadir_context *context, const geometry_model *model, uint64_t seed,
                                     int differing, int64_t pairs, geometry_midpoints *midpoints)
{
    const int64_t blocks = (pairs + BLOCK - 1) / BLOCK;
    const int threads = nadir_threads_for(context, pairs * 4 * 1000);
    nadir_status stopped = NADIR_OK;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t block = 0; block < blocks; block++) {
        nadir_random random = geometry_stream(seed, -1 - differing - S * (block + 1));
        const double share = (double)block / (double)blocks;
        if (!nadir_progress_team(context, "midpoints", share, &stopped)) {
            continue;
        }
        for (int64_t pair = block * BLOCK; pair < pairs && pair < (block + 1) * BLOCK; pair++) {
            double chances[2][S];
            double points[2][N];
            double middle[N];
            draw_pair(&random, differing, chances[0], chances[1]);
            geometry_point(model, chances[0], points[0]);
            geometry_point(model, chances[1], points[1]);
            for (int i = 0; i < N; i++) {
                middle[i] = 0.5 * (points[0][i] + points[1][i]);
            }
            midpoints->separation[pair] = sqrt(squared_distance(points[0], points[1]));
            midpoints->disagreement[pair] = geometry_disagreement(middle);
            midpoints->distance[pair] = geometry_distance(model, middle);
        }
    }
    return stopped;
}
