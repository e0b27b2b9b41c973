/* A library that is only a name: the functions are in the one that it is linked with. */
extern const int ptxsim_name;
const int ptxsim_name = 1;
