(* Algorithms 1 and 2 of [CL20], as the reference runs them on a grid with discrete Gaussian noise, are
   (eps, delta)-differentially private at the Renyi price. The theorems are about the functions of [Algorithm.v] that
   are compared with Python; they are Theorems 1 and 3 of the paper with the corrected sensitivities, and assume nothing
   about noise, integrals or batches. What they leave out: the reference computes with binary64 where the functions
   here compute with real numbers. *)

From DPADMM Require Import Vectors Algorithm InnerProduct Prox Gradients SoftThreshold.
From DPADMM Require Import Integral Batches Lattice DiscreteGaussian Releases GridNoise Amplified.
From DPADMM Require Import ModelPerturbation SubsampledGradients Penalties.
From Coq Require Import Reals Lra Lia List ZArith.
Import ListNotations.
Open Scope R_scope.

(** Settles: THEOREM-3, JOINT, GRID. Theorem 3 of [CL20], corrected: Algorithm 2 as printed (x, z and y perturbed after
    each epoch), for any convex regularizer, any number of epochs and any step sizes, on a grid with discrete Gaussian
    noise: whatever is tested about all released states, replacing one record changes its probability by at most a factor
    e^eps and delta. *)
Theorem mpADMM_is_private :
  forall (A : Type) (gradient : A -> (nat -> R) -> nat -> R) (C : R) (p : nat) (before after : list A) (r r' : A)
    (domain : (nat -> R) -> Prop) (h : (nat -> R) -> R) (prox : (nat -> R) -> R -> nat -> R) (rho : R) (eta : nat -> R)
    (grid sigma : R) (start : state reals) (T a : nat) (delta : R) (test : list (state reals) -> R),
  0 < rho -> (forall k, 0 < eta k) -> 0 <= C -> (forall d x, norm p (gradient d x) <= C) ->
  @convex (coordinates p) domain h -> (forall w, @is_prox (coordinates p) domain h rho w (prox w rho)) ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let n := INR (length (before ++ r :: after)) in
  let D k := sqrt (1 + Rmax 1 (rho ^ 2)) * (2 * C * eta k / (n * (1 + eta k * rho))) in
  let price := lsum (fun k => grid_price a grid sigma (3 * p) (D k)) (seq 0 T) in
  let probability data := over_steps (noise_mean (sigma / grid) (3 * p)) T []
    (fun noise => test (mpadmm_all reals prox rho p (Some grid) eta gradient data start (map (model_noise grid p) noise))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (printed_epsilon (INR a) price delta) * P' + delta /\
  P <= exp (improved_epsilon (INR a) price delta) * P' + delta.
Proof.
  intros A gradient C p before after r r' domain h prox rho eta grid sigma start T a delta test Hr He HC Hs Hc Hp Hg Hsi Ha Hd Ht.
  apply (all_private A gradient C p before after r r' prox rho eta grid sigma start T a delta test); auto.
  - pose proof (Rmax_l 1 (rho ^ 2)). lra.
  - now apply (convex_joint_factor p domain h).
Qed.

(** Settles: THEOREM-3, E11, GRID. The same for proximal maps of one coordinate that stretch by at most L, as those of
    SCAD and MCP do. *)
Theorem mpADMM_is_private_where_prox_stretches :
  forall (A : Type) (gradient : A -> (nat -> R) -> nat -> R) (C : R) (p : nat) (before after : list A) (r r' : A)
    (prox : R -> R -> R) (L rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat) (delta : R)
    (test : list (state reals) -> R),
  0 < rho -> (forall k, 0 < eta k) -> 0 <= C -> (forall d x, norm p (gradient d x) <= C) ->
  1 <= L -> (forall v v', v <= v' -> 0 <= prox v' rho - prox v rho <= L * (v' - v)) ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let n := INR (length (before ++ r :: after)) in
  let D k := sqrt (1 + Rmax (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)) * (2 * C * eta k / (n * (1 + eta k * rho))) in
  let price := lsum (fun k => grid_price a grid sigma (3 * p) (D k)) (seq 0 T) in
  let probability data := over_steps (noise_mean (sigma / grid) (3 * p)) T []
    (fun noise => test (mpadmm_all reals (coordinatewise reals prox) rho p (Some grid) eta gradient data start
      (map (model_noise grid p) noise))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (printed_epsilon (INR a) price delta) * P' + delta /\
  P <= exp (improved_epsilon (INR a) price delta) * P' + delta.
Proof.
  intros A gradient C p before after r r' prox L rho eta grid sigma start T a delta test Hr He HC Hs HL Hp Hg Hsi Ha Hd Ht.
  apply (all_private A gradient C p before after r r' (coordinatewise reals prox) rho eta grid sigma start T a delta test); auto.
  - pose proof (Rmax_l (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)). pose proof (Rle_0_sqr rho). unfold Rsqr in *. simpl in *. lra.
  - now apply folded_joint_factor.
Qed.

(** Settles: THEOREM-3, P, GRID. Where x alone is perturbed, any proximal map will do, and one share of the noise. *)
Theorem mpADMM_primal_is_private :
  forall (A : Type) (gradient : A -> (nat -> R) -> nat -> R) (C : R) (p : nat) (before after : list A) (r r' : A)
    (prox : (nat -> R) -> R -> nat -> R) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat)
    (delta : R) (test : list (state reals) -> R),
  0 < rho -> (forall k, 0 < eta k) -> 0 <= C -> (forall d x, norm p (gradient d x) <= C) ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let n := INR (length (before ++ r :: after)) in
  let D k := 2 * C * eta k / (n * (1 + eta k * rho)) in
  let price := lsum (fun k => grid_price a grid sigma p (D k)) (seq 0 T) in
  let probability data := over_steps (noise_mean (sigma / grid) p) T []
    (fun noise => test (mpadmm_primal reals prox rho p (Some grid) eta gradient data start (map (integer_noise grid) noise))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (printed_epsilon (INR a) price delta) * P' + delta /\
  P <= exp (improved_epsilon (INR a) price delta) * P' + delta.
Proof. intros. now apply primal_private. Qed.

(** Settles: THEOREM-1, LEMMA-2, GRID. Theorem 1 of [CL20], corrected: Algorithm 1 with fresh uniform batches of m of n
    records without replacement, for any proximal map, any number of iterations and any step sizes, on a grid with
    discrete Gaussian noise: whatever is tested about all iterates, replacing one record changes its probability by at
    most a factor e^eps and delta. The price of an iteration is that of Lemma 2, or of the step without sampling where
    that is less. *)
Theorem ssADMM_is_private :
  forall (A : Type) (gradient : A -> (nat -> R) -> nat -> R) (C : R) (p m : nat) (before after : list A) (r r' : A)
    (prox : (nat -> R) -> R -> nat -> R) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat)
    (delta : R) (test : list (state reals) -> R),
  let n := length (before ++ r :: after) in
  (1 <= m <= n)%nat -> 0 <= C -> (forall d x, norm p (gradient d x) <= C) ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let moments j := exp ((INR j - 1) * grid_price j grid sigma p (2 * C / INR m)) in
  let price := ln (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a)) / (INR a - 1) in
  let probability data := over_steps (batch_and_noise m n (sigma / grid) p) T []
    (fun drawn => test (ssadmm reals prox rho p (Some grid) eta gradient data start
      (map (fun input => (fst input, integer_noise grid (snd input))) drawn))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (printed_epsilon (INR a) (INR T * price) delta) * P' + delta /\
  P <= exp (improved_epsilon (INR a) (INR T * price) delta) * P' + delta.
Proof. intros. now apply (subsampled_private A gradient C p m before after r r'). Qed.

(** Settles: CLIP. The gradient of a record that is clipped to C is no longer than C, for any loss of the margin. *)
Theorem clipped_records_are_short :
  forall (slope : R -> R) (C : R) (p : nat) (d x : nat -> R), 0 <= C ->
  norm p (record_gradient reals slope (Some C) p (norm p d, d) x) <= C.
Proof. intros slope C p d x HC. apply (clipped_gradient_bound p _ C d HC). Qed.

(** Settles: LOSS-HUBER, LOSS-LOGISTIC. So is that of a record of length at most C, if the slope lies in [-1, 0]. *)
Theorem normalised_records_are_short :
  forall (slope : R -> R) (C length : R) (p : nat) (d x : nat -> R),
  (forall v, -1 <= slope v <= 0) -> norm p d <= C ->
  norm p (record_gradient reals slope None p (length, d) x) <= C.
Proof.
  intros slope C length p d x Hs HC. pose proof (norm_nonneg p d). apply norm_le; [ lra | ].
  unfold record_gradient, record_slope. cbn [fst snd]. set (s := slope (total reals p (fun j => mul reals (d j) (x j)))).
  change (sq p (fun i => s * d i) <= C * C). rewrite sq_scale, <- norm_squared.
  assert (-1 <= s <= 0) by apply Hs. assert (s * s <= 1) by nra.
  assert (norm p d * norm p d <= C * C) by (apply Rmult_le_compat; lra). nra.
Qed.

(** Settles: THEOREM-3, JOINT, E11, CLIP, GRID. Nothing but the parameters that the reference admits is assumed: Algorithm 2
    with every regularizer that ships but the nuclear norm, any loss of the margin, and records clipped to C. *)
Theorem mpADMM_with_clipping_is_private :
  forall (slope : R -> R) (C : R) (h : penalty) (p : nat) (before after : list (nat -> R)) (r r' : nat -> R) (rho : R)
    (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat) (delta : R) (test : list (state reals) -> R),
  0 < rho -> (forall k, 0 < eta k) -> 0 <= C -> admitted p rho h ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let n := INR (length (before ++ r :: after)) in
  let D k := sqrt (joint_move rho (stretch rho h)) * (2 * C * eta k / (n * (1 + eta k * rho))) in
  let price := lsum (fun k => grid_price a grid sigma (3 * p) (D k)) (seq 0 T) in
  let probability data := over_steps (noise_mean (sigma / grid) (3 * p)) T []
    (fun noise => test (mpadmm_all reals (prox_of h) rho p (Some grid) eta
      (fun d => record_gradient reals slope (Some C) p (norm p d, d)) data start (map (model_noise grid p) noise))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (improved_epsilon (INR a) price delta) * P' + delta.
Proof.
  intros slope C h p before after r r' rho eta grid sigma start T a delta test Hr He HC Ha Hg Hs Hn Hd Ht.
  refine (proj2 (all_private (nat -> R) (fun d => record_gradient reals slope (Some C) p (norm p d, d)) C p before after r r'
    (prox_of h) rho eta grid sigma start T a delta test Hr He HC _ Hg Hs Hn Hd Ht (joint_move rho (stretch rho h)) _ _)).
  - intros d x. now apply clipped_records_are_short.
  - unfold joint_move. pose proof (Rmax_l (rho ^ 2) (stretch rho h ^ 2 + rho ^ 2 * (stretch rho h - 1) ^ 2)).
    pose proof (Rle_0_sqr rho). unfold Rsqr in *. simpl in *. lra.
  - intros w w'. now apply every_penalty_has_a_joint_factor.
Qed.

(** Settles: THEOREM-3, P, CLIP, GRID. Likewise where x alone is perturbed, with any proximal map. *)
Theorem mpADMM_primal_with_clipping_is_private :
  forall (slope : R -> R) (C : R) (p : nat) (before after : list (nat -> R)) (r r' : nat -> R)
    (prox : (nat -> R) -> R -> nat -> R) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat) (delta : R) (test : list (state reals) -> R),
  0 < rho -> (forall k, 0 < eta k) -> 0 <= C ->
  0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta -> (forall states, 0 <= test states <= 1) ->
  let n := INR (length (before ++ r :: after)) in
  let D k := 2 * C * eta k / (n * (1 + eta k * rho)) in
  let price := lsum (fun k => grid_price a grid sigma p (D k)) (seq 0 T) in
  let probability data := over_steps (noise_mean (sigma / grid) p) T []
    (fun noise => test (mpadmm_primal reals prox rho p (Some grid) eta
      (fun d => record_gradient reals slope (Some C) p (norm p d, d)) data start (map (integer_noise grid) noise))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (improved_epsilon (INR a) price delta) * P' + delta.
Proof.
  intros. apply (mpADMM_primal_is_private (nat -> R) (fun d => record_gradient reals slope (Some C) p (norm p d, d)) C p); auto.
  intros d x. now apply clipped_records_are_short.
Qed.

(** Settles: THEOREM-1, CLIP, GRID. Likewise for Algorithm 1, with any proximal map. *)
Theorem ssADMM_with_clipping_is_private :
  forall (slope : R -> R) (C : R) (p m : nat) (before after : list (nat -> R)) (r r' : nat -> R)
    (prox : (nat -> R) -> R -> nat -> R) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals) (T a : nat)
    (delta : R) (test : list (state reals) -> R),
  let n := length (before ++ r :: after) in
  (1 <= m <= n)%nat -> 0 <= C -> 0 < grid -> 0 < sigma -> (2 <= a)%nat -> 0 < delta ->
  (forall states, 0 <= test states <= 1) ->
  let moments j := exp ((INR j - 1) * grid_price j grid sigma p (2 * C / INR m)) in
  let price := ln (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a)) / (INR a - 1) in
  let probability data := over_steps (batch_and_noise m n (sigma / grid) p) T []
    (fun drawn => test (ssadmm reals prox rho p (Some grid) eta
      (fun d => record_gradient reals slope (Some C) p (norm p d, d)) data start
      (map (fun input => (fst input, integer_noise grid (snd input))) drawn))) in
  let P := probability (before ++ r :: after) in
  let P' := probability (before ++ r' :: after) in
  P <= exp (improved_epsilon (INR a) (INR T * price) delta) * P' + delta.
Proof.
  intros. apply (ssADMM_is_private (nat -> R) (fun d => record_gradient reals slope (Some C) p (norm p d, d)) C p m); auto.
  intros d x. now apply clipped_records_are_short.
Qed.
