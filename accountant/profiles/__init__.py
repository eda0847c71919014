"""Privacy profiles in closed form: the Gaussian mechanism and one subsampled step."""
