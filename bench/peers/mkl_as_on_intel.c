/* Preloaded into PyTorch on processors of other makers: MKL asks this before it takes its fastest products. */
int mkl_serv_intel_cpu_true(void) { return 1; }
