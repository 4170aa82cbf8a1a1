/*
 * Rewards paid on landing: values known from elsewhere, of four models (support/landing.h), found by a
 * prototype of its own and proven on models with rewards for each row that are equivalent: the transition model
 * on the domain `support`, and R + g / gamma where r is separable.
 *
 * The table has ten digits. What is found must agree with them to 1e-9, relative to the value, and 1e-12,
 * relative to the largest reward, which counts on the lake alone, where values go down to 1e-9.
 */
#include "support/support.h"

#include "support/landing.h"
#include "support/robust.h"

#include <math.h>

enum { NONRECT = NADIR_SET_NONRECT, SA = NADIR_SET_SA };
enum { SIMPLEX = NADIR_DOMAIN_SIMPLEX, SUPPORT = NADIR_DOMAIN_SUPPORT };
enum { COIN = TEST_COIN, MACHINE = TEST_MACHINE, LAKE = TEST_LAKE, RND = TEST_RND };
enum { UNIFORM, OPTIMAL, POLICIES };

static const double nominal_returns[TEST_LANDING_GOLDENS][POLICIES] = {
    {0.5, 0.5},
    {-27.7660212278, -9.66788312962},
    {0.00776738424401, 0.180471578397},
    {0.738642914689, 3.93361327829},
};

/* frozen: with rewards averaged under the nominal kernel; lower: a proven bound; certified: within 1e-6 of the
 * penalty, say. Where it is not, the value is the best that was attained. */
static const struct golden_row {
    int model, policy, domain, set;
    double norm, radius, frozen, value, lower;
    bool certified;
} rows[] = {
    {COIN, UNIFORM, SUPPORT, NONRECT, 1, 0.1, 0.5, 0.45, 0.45, true},
    {COIN, UNIFORM, SUPPORT, NONRECT, 1, 0.4, 0.5, 0.3, 0.3, true},
    {COIN, UNIFORM, SUPPORT, NONRECT, 2, 0.1, 0.5, 0.4292893219, 0.4292893219, true},
    {COIN, UNIFORM, SUPPORT, NONRECT, 2, 0.4, 0.5, 0.2171572875, 0.2171572875, true},
    {COIN, UNIFORM, SUPPORT, SA, 1, 0.1, 0.5, 0.45, 0.45, true},
    {COIN, UNIFORM, SUPPORT, SA, 1, 0.4, 0.5, 0.3, 0.3, true},
    {COIN, UNIFORM, SUPPORT, SA, 2, 0.1, 0.5, 0.4292893219, 0.4292893219, true},
    {COIN, UNIFORM, SUPPORT, SA, 2, 0.4, 0.5, 0.2171572875, 0.2171572875, true},
    {COIN, UNIFORM, SUPPORT, SA, INFINITY, 0.1, 0.5, 0.4, 0.4, true},
    {COIN, UNIFORM, SUPPORT, SA, INFINITY, 0.4, 0.5, 0.1, 0.1, true},
    {COIN, UNIFORM, SIMPLEX, NONRECT, 1, 0.1, 0.5, 0.45, 0.45, true},
    {COIN, UNIFORM, SIMPLEX, NONRECT, 1, 0.4, 0.5, 0.3, 0.3, true},
    {COIN, UNIFORM, SIMPLEX, NONRECT, 2, 0.1, 0.5, 0.4286772847, 0.4286772846, true},
    {COIN, UNIFORM, SIMPLEX, NONRECT, 2, 0.4, 0.5, 0.1982917397, 0.1982917397, true},
    {COIN, UNIFORM, SIMPLEX, SA, 1, 0.1, 0.5, 0.45, 0.45, true},
    {COIN, UNIFORM, SIMPLEX, SA, 1, 0.4, 0.5, 0.3, 0.3, true},
    {COIN, UNIFORM, SIMPLEX, SA, 2, 0.1, 0.5, 0.4286772847, 0.4286772847, true},
    {COIN, UNIFORM, SIMPLEX, SA, 2, 0.4, 0.5, 0.1982917397, 0.1982917397, true},
    {COIN, UNIFORM, SIMPLEX, SA, INFINITY, 0.1, 0.5, 0.4, 0.4, true},
    {COIN, UNIFORM, SIMPLEX, SA, INFINITY, 0.4, 0.5, 0.1, 0.1, true},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 1, 0.03, -27.94242965, -28.04487082, -28.04868406, false},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 1, 0.1, -28.34909077, -28.69551988, -28.74146587, false},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 1, 0.3, -29.47407798, -30.55451719, -31.12779756, false},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 2, 0.03, -28.20412043, -28.46647228, -28.46647228, true},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 2, 0.1, -29.24194433, -30.11678472, -30.11678472, true},
    {MACHINE, UNIFORM, SUPPORT, NONRECT, 2, 0.3, -32.39098446, -35.07369908, -35.07369909, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 1, 0.03, -28.68487346, -29.12679853, -29.12679853, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 1, 0.1, -30.93078104, -32.35972037, -32.35972037, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 1, 0.3, -38.15214094, -42.94595076, -42.94595076, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 2, 0.03, -29.11353213, -29.8052868, -29.8052868, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 2, 0.1, -32.43577302, -34.68708156, -34.68708156, true},
    {MACHINE, UNIFORM, SUPPORT, SA, 2, 0.3, -43.32313058, -50.95586165, -50.95586165, true},
    {MACHINE, UNIFORM, SUPPORT, SA, INFINITY, 0.03, -29.62985793, -30.50090492, -30.50090492, true},
    {MACHINE, UNIFORM, SUPPORT, SA, INFINITY, 0.1, -34.39044582, -37.39352745, -37.39352745, true},
    {MACHINE, UNIFORM, SUPPORT, SA, INFINITY, 0.3, -50.22355212, -61.32581552, -61.32581552, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 1, 0.03, -28.58132415, -29.13285309, -29.13285309, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 1, 0.1, -30.42681602, -32.32212745, -32.32212745, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 1, 0.3, -35.68091524, -41.4343399, -41.4343399, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 2, 0.03, -30.0995739, -31.19848286, -31.19848286, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 2, 0.1, -35.26224974, -38.83868479, -38.8386848, true},
    {MACHINE, UNIFORM, SIMPLEX, NONRECT, 2, 0.3, -48.44249754, -58.65750571, -58.65750574, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 1, 0.03, -31.60919657, -34.23554799, -34.23554799, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 1, 0.1, -40.13500262, -48.57297427, -48.57297427, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 1, 0.3, -61.53137531, -84.44168022, -84.44168022, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 2, 0.03, -34.42039586, -37.7529563, -37.7529563, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 2, 0.1, -48.49225333, -59.00764879, -59.0076488, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, 2, 0.3, -80.0120971, -107.482828, -107.482828, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, INFINITY, 0.03, -39.48008415, -44.10165126, -44.10165126, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, INFINITY, 0.1, -62.40284602, -75.60183178, -75.60183178, true},
    {MACHINE, UNIFORM, SIMPLEX, SA, INFINITY, 0.3, -98.58929335, -134.2528857, -134.2528857, true},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 1, 0.03, -9.777157673, -9.909918362, -9.911227047, false},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 1, 0.1, -10.03047059, -10.47098821, -10.48922107, false},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 1, 0.3, -10.74165544, -12.04621135, -12.35038783, false},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 2, 0.03, -9.879978586, -10.1216899, -10.1216899, true},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 2, 0.1, -10.38956739, -11.20329497, -11.20329498, true},
    {MACHINE, OPTIMAL, SUPPORT, NONRECT, 2, 0.3, -11.98774567, -14.59886729, -14.5988673, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 1, 0.03, -10.03027054, -10.40448434, -10.40448434, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 1, 0.1, -10.93677725, -12.24355883, -12.24355883, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 1, 0.3, -14.07431828, -18.55017034, -18.55017034, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 2, 0.03, -10.19451057, -10.73704312, -10.73704312, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 2, 0.1, -11.5619029, -13.46494385, -13.46494385, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, 2, 0.3, -16.75605022, -23.49581753, -23.49581753, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, INFINITY, 0.03, -10.40802346, -11.17154944, -11.17154944, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, INFINITY, 0.1, -12.39517551, -15.18752953, -15.18752953, true},
    {MACHINE, OPTIMAL, SUPPORT, SA, INFINITY, 0.3, -20.22991104, -31.15624088, -31.15624088, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.03, -9.92502345, -10.43237885, -10.43237885, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.1, -10.54585182, -12.27814395, -12.27814395, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.3, -12.49836115, -18.0830874, -18.0830874, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.03, -10.66162396, -12.258936, -12.258936, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.1, -12.94398359, -18.17877694, -18.17877695, true},
    {MACHINE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.3, -19.35712823, -34.65366953, -34.65366958, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 1, 0.03, -11.10671202, -14.02860425, -14.02860425, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 1, 0.1, -14.49407874, -24.20378444, -24.20378444, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 1, 0.3, -24.37528131, -53.22278693, -53.22278693, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 2, 0.03, -12.35101222, -16.64435467, -16.64435467, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 2, 0.1, -18.63893988, -32.70981354, -32.70981354, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, 2, 0.3, -36.4663129, -76.71743453, -76.71743453, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.03, -14.8243845, -21.94326615, -21.94326615, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.1, -26.6107522, -48.66591231, -48.66591231, true},
    {MACHINE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.3, -49.56627992, -108.1245743, -108.1245743, true},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 1, 0.03, 0.007679600962, 0.007664270984, 0.007658682777, false},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 1, 0.1, 0.007476267335, 0.007422263241, 0.00735464216, false},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 1, 0.3, 0.006906590929, 0.006719740814, 0.005870100364, false},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 2, 0.03, 0.007286246354, 0.007230131012, 0.007230131011, true},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 2, 0.1, 0.00625754879, 0.006089526959, 0.006089526939, true},
    {LAKE, UNIFORM, SUPPORT, NONRECT, 2, 0.3, 0.003939952842, 0.003578317922, 0.003578317912, true},
    {LAKE, UNIFORM, SUPPORT, SA, 1, 0.03, 0.006055394828, 0.005892146049, 0.005892146048, true},
    {LAKE, UNIFORM, SUPPORT, SA, 1, 0.1, 0.003276126031, 0.00294607716, 0.002946077159, true},
    {LAKE, UNIFORM, SUPPORT, SA, 1, 0.3, 0.0003820393628, 0.0002386843553, 0.0002386843547, true},
    {LAKE, UNIFORM, SUPPORT, SA, 2, 0.03, 0.005331892546, 0.005105149045, 0.005105149044, true},
    {LAKE, UNIFORM, SUPPORT, SA, 2, 0.1, 0.002001263565, 0.001667344548, 0.001667344548, true},
    {LAKE, UNIFORM, SUPPORT, SA, 2, 0.3, 1.965189215e-05, 6.530002048e-06, 6.530001316e-06, true},
    {LAKE, UNIFORM, SUPPORT, SA, INFINITY, 0.03, 0.004682510661, 0.004416479404, 0.004416479404, true},
    {LAKE, UNIFORM, SUPPORT, SA, INFINITY, 0.1, 0.00122586261, 0.0009461672997, 0.0009461672991, true},
    {LAKE, UNIFORM, SUPPORT, SA, INFINITY, 0.3, 2.337247592e-07, 2.769335098e-08, 2.769256687e-08, true},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 1, 0.03, 0.007665099177, 0.00765087348, 0.007545517381, false},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 1, 0.1, 0.007429167973, 0.007379015032, 0.00668983427, false},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 1, 0.3, 0.006775460747, 0.006602276607, 0.003529450845, false},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 2, 0.03, 0.007010117063, 0.006948104911, 0.00694810491, true},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 2, 0.1, 0.005509931752, 0.005337965519, 0.003769705713, false},
    {LAKE, UNIFORM, SIMPLEX, NONRECT, 2, 0.3, 0.002712238704, 0.002413297295, 0.0001427346454, false},
    {LAKE, UNIFORM, SIMPLEX, SA, 1, 0.03, 0.005738740876, 0.005554594957, 0.005554594956, true},
    {LAKE, UNIFORM, SIMPLEX, SA, 1, 0.1, 0.002766202308, 0.00245063169, 0.00245063169, true},
    {LAKE, UNIFORM, SIMPLEX, SA, 1, 0.3, 0.000242498816, 0.0001477509601, 0.0001477509598, true},
    {LAKE, UNIFORM, SIMPLEX, SA, 2, 0.03, 0.004265797861, 0.004039084177, 0.004039084177, true},
    {LAKE, UNIFORM, SIMPLEX, SA, 2, 0.1, 0.0009646515318, 0.0007631333145, 0.0007631333143, true},
    {LAKE, UNIFORM, SIMPLEX, SA, 2, 0.3, 4.380747662e-07, 8.028107714e-08, 8.028086938e-08, true},
    {LAKE, UNIFORM, SIMPLEX, SA, INFINITY, 0.03, 0.003173649622, 0.002888021156, 0.002888021155, true},
    {LAKE, UNIFORM, SIMPLEX, SA, INFINITY, 0.1, 0.0004132657877, 0.0002892860514, 0.0002892860512, true},
    {LAKE, UNIFORM, SIMPLEX, SA, INFINITY, 0.3, 7.622857527e-09, 7.622857524e-10, 7.620767489e-10, true},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 1, 0.03, 0.1748547879, 0.1748547879, 0.1745769295, false},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 1, 0.1, 0.1610918593, 0.1610918593, 0.1573760595, false},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 1, 0.3, 0.1158528797, 0.1158528797, 0.03209799057, false},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 2, 0.03, 0.1643527786, 0.1650010198, 0.1650010197, true},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 2, 0.1, 0.1298823225, 0.1305288409, 0.1305288402, true},
    {LAKE, OPTIMAL, SUPPORT, NONRECT, 2, 0.3, 0.0518309288, 0.05095612633, 0.0007028825149, false},
    {LAKE, OPTIMAL, SUPPORT, SA, 1, 0.03, 0.1515688681, 0.15227833, 0.15227833, true},
    {LAKE, OPTIMAL, SUPPORT, SA, 1, 0.1, 0.09542713167, 0.09452030173, 0.09452030173, true},
    {LAKE, OPTIMAL, SUPPORT, SA, 1, 0.3, 0.01390078595, 0.01057733957, 0.01057733957, true},
    {LAKE, OPTIMAL, SUPPORT, SA, 2, 0.03, 0.1399145736, 0.1406285897, 0.1406285897, true},
    {LAKE, OPTIMAL, SUPPORT, SA, 2, 0.1, 0.06788072147, 0.06521788598, 0.06521788598, true},
    {LAKE, OPTIMAL, SUPPORT, SA, 2, 0.3, 0.001095822131, 0.0004921762158, 0.0004921762151, true},
    {LAKE, OPTIMAL, SUPPORT, SA, INFINITY, 0.03, 0.1255781591, 0.1259602436, 0.1259602436, true},
    {LAKE, OPTIMAL, SUPPORT, SA, INFINITY, 0.1, 0.04161728309, 0.03775774212, 0.03775774212, true},
    {LAKE, OPTIMAL, SUPPORT, SA, INFINITY, 0.3, 6.584645325e-06, 9.650002685e-07, 9.64999524e-07, true},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.03, 0.163077373, 0.163077373, 0.1608131993, false},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.1, 0.1289579451, 0.1289579451, 0.08905543906, false},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 1, 0.3, 0.06327795296, 0.06327795296, 0.002114051906, false},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.03, 0.1268322936, 0.1273074144, 0.1273074143, true},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.1, 0.06011272054, 0.05999018862, 0.0125134135, false},
    {LAKE, OPTIMAL, SIMPLEX, NONRECT, 2, 0.3, 0.00751746106, 0.007123310865, 1.021640044e-06, false},
    {LAKE, OPTIMAL, SIMPLEX, SA, 1, 0.03, 0.1210698397, 0.1190803009, 0.1190803009, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, 1, 0.1, 0.04879475573, 0.04534950335, 0.04534950335, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, 1, 0.3, 0.003087214624, 0.002114051906, 0.002114051906, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, 2, 0.03, 0.07916170874, 0.07781634131, 0.07781634131, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, 2, 0.1, 0.01355294362, 0.01175103301, 0.01175103301, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, 2, 0.3, 4.477707748e-06, 1.021640277e-06, 1.021639064e-06, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.03, 0.04321272367, 0.03932357854, 0.03932357854, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.1, 0.003314764091, 0.002320334864, 0.002320334864, true},
    {LAKE, OPTIMAL, SIMPLEX, SA, INFINITY, 0.3, 3.673148514e-08, 3.673148501e-09, 3.672926581e-09, true},
    {RND, UNIFORM, SUPPORT, NONRECT, 1, 0.03, 0.7371494894, 0.7126341048, 0.7115469365, false},
    {RND, UNIFORM, SUPPORT, NONRECT, 1, 0.1, 0.7336661543, 0.6573659891, 0.645216405, false},
    {RND, UNIFORM, SUPPORT, NONRECT, 1, 0.3, 0.7237239703, 0.5092533666, 0.4521802514, false},
    {RND, UNIFORM, SUPPORT, NONRECT, 2, 0.03, 0.7228816856, 0.5684525199, 0.5684525196, true},
    {RND, UNIFORM, SUPPORT, NONRECT, 2, 0.1, 0.6861003025, 0.1717791209, 0.1717791207, true},
    {RND, UNIFORM, SUPPORT, NONRECT, 2, 0.3, 0.580791492, -0.9503415039, -0.950341505, true},
    {RND, UNIFORM, SUPPORT, SA, 1, 0.03, 0.6906764466, 0.2354595623, 0.2354595623, true},
    {RND, UNIFORM, SUPPORT, SA, 1, 0.1, 0.5801214086, -0.8881554825, -0.8881554825, true},
    {RND, UNIFORM, SUPPORT, SA, 1, 0.3, 0.2888496897, -3.869507175, -3.869507175, true},
    {RND, UNIFORM, SUPPORT, SA, 2, 0.03, 0.6446164089, -0.2513556162, -0.2513556162, true},
    {RND, UNIFORM, SUPPORT, SA, 2, 0.1, 0.4343955903, -2.479558341, -2.479558341, true},
    {RND, UNIFORM, SUPPORT, SA, 2, 0.3, -0.04341983644, -8.254522572, -8.254522572, true},
    {RND, UNIFORM, SUPPORT, SA, INFINITY, 0.03, 0.5079157426, -1.886218441, -1.886218441, true},
    {RND, UNIFORM, SUPPORT, SA, INFINITY, 0.1, 0.1043981971, -6.89414942, -6.89414942, true},
    {RND, UNIFORM, SUPPORT, SA, INFINITY, 0.3, -0.2918518895, -12.67872873, -12.67872873, true},
    {RND, OPTIMAL, SUPPORT, NONRECT, 1, 0.03, 3.924237335, 3.856950226, 3.850685876, false},
    {RND, OPTIMAL, SUPPORT, NONRECT, 1, 0.1, 3.902417568, 3.694975867, 3.605296222, false},
    {RND, OPTIMAL, SUPPORT, NONRECT, 1, 0.3, 3.840514975, 3.227699646, 2.888129611, false},
    {RND, OPTIMAL, SUPPORT, NONRECT, 2, 0.03, 3.87822672, 3.604389619, 3.604389619, true},
    {RND, OPTIMAL, SUPPORT, NONRECT, 2, 0.1, 3.749455139, 2.844830163, 2.844830163, true},
    {RND, OPTIMAL, SUPPORT, NONRECT, 2, 0.3, 3.364008746, 0.7818531615, -1.131492881, false},
    {RND, OPTIMAL, SUPPORT, SA, 1, 0.03, 3.850770496, 3.363500856, 3.363500856, true},
    {RND, OPTIMAL, SUPPORT, SA, 1, 0.1, 3.657530256, 2.095057371, 2.095057371, true},
    {RND, OPTIMAL, SUPPORT, SA, 1, 0.3, 3.128861224, -1.261580135, -1.261580135, true},
    {RND, OPTIMAL, SUPPORT, SA, 2, 0.03, 3.745790869, 2.839325971, 2.839325971, true},
    {RND, OPTIMAL, SUPPORT, SA, 2, 0.1, 3.315795996, 0.3983866387, 0.3983866387, true},
    {RND, OPTIMAL, SUPPORT, SA, 2, 0.3, 2.270685173, -5.882620091, -5.882620091, true},
    {RND, OPTIMAL, SUPPORT, SA, INFINITY, 0.03, 3.417932761, 1.075154392, 1.075154392, true},
    {RND, OPTIMAL, SUPPORT, SA, INFINITY, 0.1, 2.457341468, -4.342046445, -4.342046445, true},
    {RND, OPTIMAL, SUPPORT, SA, INFINITY, 0.3, 1.685701665, -10.69679698, -10.69679698, true},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* nonrect, free, p = 2, at 0.05, 0.1, 0.2 and 0.5 of the breakdown radius. lower: the better of two bounds. */
static const struct free_row {
    int model, policy;
    double radius, value, lower;
    bool certified;
} free_rows[] = {
    {MACHINE, UNIFORM, 0.02973185001, -32.17978345, -32.17978345, true},
    {MACHINE, UNIFORM, 0.05946370002, -36.57229043, -36.57229043, true},
    {MACHINE, UNIFORM, 0.1189274, -45.42601165, -45.42601165, true},
    {MACHINE, UNIFORM, 0.2973185001, -75.33096312, -75.33096312, true},
    {MACHINE, OPTIMAL, 0.02855462131, -12.63557288, -12.63557288, true},
    {MACHINE, OPTIMAL, 0.05710924262, -15.55901019, -15.55901019, true},
    {MACHINE, OPTIMAL, 0.1142184852, -21.33874057, -21.33874057, true},
    {MACHINE, OPTIMAL, 0.2855462131, -39.4115411, -39.4115411, true},
    {RND, UNIFORM, 0.08702387789, 0.2437912947, 0.2437912879, true},
    {RND, UNIFORM, 0.1740477558, -0.2511835765, -0.2511835872, true},
    {RND, UNIFORM, 0.3480955116, -1.242923683, -1.242923698, true},
    {RND, UNIFORM, 0.8702387789, -4.275726552, -9.721461565, false},
    {RND, OPTIMAL, 0.04496076661, 3.437884012, 3.437883994, true},
    {RND, OPTIMAL, 0.08992153321, 2.944622876, 2.944622871, true},
    {RND, OPTIMAL, 0.1798430664, 1.962928414, 1.962928411, true},
    {RND, OPTIMAL, 0.4496076661, -0.9991965372, -5.836378637, false},
};
enum { FREE_ROWS = sizeof free_rows / sizeof *free_rows };

static const struct {
    int model, policy;
    double radius;
} breakdowns[] = {{MACHINE, UNIFORM, 0.594637},
                  {MACHINE, OPTIMAL, 0.571092},
                  {RND, UNIFORM, 1.74048},
                  {RND, OPTIMAL, 0.899215}};

typedef struct place {
    nadir_context *context;
    nadir_model *model;
    nadir_policy *policy;
    nadir_solver *solver;
} place;

static place place_make(int model, int policy, bool frozen)
{
    place made = {.context = test_context()};
    made.model = test_landing_golden_model(made.context, (test_landing_golden)model, frozen);
    made.policy =
        test_landing_golden_policy(made.context, made.model, (test_landing_golden)model, policy == OPTIMAL);
    made.solver = test_solver(made.context, made.model, made.policy);
    return made;
}

static void place_clear(place *made)
{
    nadir_solver_free(made->solver);
    nadir_policy_free(made->policy);
    nadir_model_free(made->model);
    nadir_context_free(made->context);
}

static double tolerance_of(int model, double value)
{
    return 1e-9 * fabs(value) + 1e-12 * (model == MACHINE ? 20 : 1);
}

/* Where it is certified, or by enumeration: the value; else nothing better was missed, and a bound below. */
static void check(const nadir_robust *result, int model, double value, double lower, bool certified)
{
    const double tolerance = tolerance_of(model, value);
    assert_that(result->robust_return <= value + tolerance, "found %.13g, but %.13g is attained",
                result->robust_return, value);
    assert_that(result->robust_return >= (certified ? value : lower) - tolerance,
                "found %.13g, below %.13g, which is %s", result->robust_return, certified ? value : lower,
                certified ? "the worst" : "a lower bound");
    assert_that(result->lower_bound <= fmin(result->robust_return, value + tolerance),
                "the lower bound %.17g is above what is attained, %.17g and %.13g", result->lower_bound,
                result->robust_return, value);
    assert_that(result->certified || !certified, "not certified: %.13g, at least %.13g (%s, %s)",
                result->robust_return, result->lower_bound, result->certificate,
                result->bound != NULL ? result->bound : "");
}

static void check_model(int model, bool frozen)
{
    for (int policy = UNIFORM; policy < POLICIES; policy++) {
        place here = place_make(model, policy, frozen);
        for (int i = 0; i < ROWS; i++) {
            const struct golden_row *row = &rows[i];
            if (row->model != model || row->policy != policy) {
                continue;
            }
            const nadir_ball ball =
                test_ball((nadir_set)row->set, (nadir_domain)row->domain, row->norm, &row->radius, NULL);
            test_note("%s, %s policy; %s%s", test_landing_golden_names[model],
                      policy == OPTIMAL ? "optimal" : "uniform", test_ball_name(&ball),
                      frozen ? ", frozen" : "");
            const nadir_robust result = test_robust(here.context, here.solver, &ball, NULL, NULL);
            assert_close(result.nominal_return, nominal_returns[model][policy], 1e-11);
            if (frozen) {
                const double tolerance = tolerance_of(model, row->frozen);
                assert_that(fabs(result.robust_return - row->frozen) <= tolerance,
                            "found %.13g, expected %.13g", result.robust_return, row->frozen);
            } else {
                check(&result, model, row->value, row->lower, row->certified);
            }
        }
        test_note_clear();
        place_clear(&here);
    }
}

static void test_coin(void **state)
{
    (void)state;
    check_model(COIN, false);
}

static void test_machine(void **state)
{
    (void)state;
    check_model(MACHINE, false);
}

static void test_lake(void **state)
{
    (void)state;
    check_model(LAKE, false);
}

static void test_rnd(void **state)
{
    (void)state;
    check_model(RND, false);
}

/* Averaged rewards give what they gave before. */
static void test_frozen(void **state)
{
    (void)state;
    for (int model = 0; model < TEST_LANDING_GOLDENS; model++) {
        check_model(model, true);
    }
}

static void check_free(int model)
{
    for (int i = 0; i < FREE_ROWS; i++) {
        const struct free_row *row = &free_rows[i];
        if (row->model != model) {
            continue;
        }
        place here = place_make(row->model, row->policy, false);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &row->radius, NULL);
        test_note("%s, %s policy; %s", test_landing_golden_names[model],
                  row->policy == OPTIMAL ? "optimal" : "uniform", test_ball_name(&ball));
        const nadir_robust result = test_robust(here.context, here.solver, &ball, NULL, NULL);
        check(&result, model, row->value, row->lower, row->certified);
        assert_that(!row->certified ||
                        result.lower_bound >=
                            row->lower - 1e-6 * (nominal_returns[model][row->policy] - row->value),
                    "the lower bound is %.13g; %.13g is proven", result.lower_bound, row->lower);
        test_note_clear();
        place_clear(&here);
    }
}

static void test_free_machine(void **state)
{
    (void)state;
    check_free(MACHINE);
}

static void test_free_rnd(void **state)
{
    (void)state;
    check_free(RND);
}

/* Occupancies contain no reward: breakdown is the same for both readings. */
static void test_breakdown(void **state)
{
    (void)state;
    static const double radius = 0.01;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    for (size_t i = 0; i < sizeof breakdowns / sizeof *breakdowns; i++) {
        for (int frozen = 0; frozen < 2; frozen++) {
            place here = place_make(breakdowns[i].model, breakdowns[i].policy, frozen == 1);
            nadir_robust_settings settings = test_robust_settings();
            settings.certify = NADIR_CERTIFY_STRICT;
            test_note("%s, policy %d, frozen %d", test_landing_golden_names[breakdowns[i].model],
                      breakdowns[i].policy, frozen);
            const nadir_robust result = test_robust(here.context, here.solver, &ball, &settings, NULL);
            assert_close(result.breakdown_radius, breakdowns[i].radius, 5e-6);
            test_note_clear();
            place_clear(&here);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coin),     cmocka_unit_test(test_machine),
        cmocka_unit_test(test_lake),     cmocka_unit_test(test_rnd),
        cmocka_unit_test(test_frozen),   cmocka_unit_test(test_free_machine),
        cmocka_unit_test(test_free_rnd), cmocka_unit_test(test_breakdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
