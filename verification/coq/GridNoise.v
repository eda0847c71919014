(* Values on a grid with discrete Gaussian noise: rounding neighbours to the grid moves them apart by at most
   grid sqrt(k) more, and adaptive releases of rounded values with this noise are (eps, delta)-private. *)

From DPADMM Require Import Vectors Algorithm InnerProduct.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Lattice DiscreteGaussian Releases.
From Coq Require Import Reals Lra Lia List ZArith.
Import ListNotations.
Open Scope R_scope.

Lemma sum_front n f : sum (S n) f = f O + sum n (fun i => f (S i)).
Proof. induction n as [ | n IH ]; [ simpl; ring | ]. change (sum (S (S n)) f) with (sum (S n) f + f (S n)). rewrite IH. simpl. ring. Qed.

Lemma sum_app a b f : sum (a + b) f = sum a f + sum b (fun i => f (a + i)%nat).
Proof.
  revert f; induction a as [ | a IH ]; intro f; [ simpl; rewrite Rplus_0_l; reflexivity | ].
  change (S a + b)%nat with (S (a + b)). rewrite !sum_front, IH. simpl. ring.
Qed.

Lemma gap_is_sq k m m' : gap k m m' = sq k (fun i => IZR (m i) - IZR (m' i)).
Proof.
  revert m m'; induction k as [ | k IH ]; intros m m'; [ reflexivity | ].
  unfold sq, dot in *. rewrite sum_front. simpl gap. now rewrite IH.
Qed.

Lemma within x b : Rabs x <= b -> - b <= x <= b.
Proof. intro H. pose proof (Rle_abs x). pose proof (Rle_abs (- x)). rewrite Rabs_Ropp in *. lra. Qed.

(** Settles: GRID. After rounding to multiples of the grid, two values at most D apart are at most D + grid sqrt(k)
    apart, in units of the grid. *)
Theorem rounding_gap :
  forall (k : nat) (grid D : R) (u u' : nat -> R), 0 < grid -> norm k (fun i => u i - u' i) <= D ->
  gap k (fun i => half_even reals (u i / grid)) (fun i => half_even reals (u' i / grid))
  <= ((D + grid * sqrt (INR k)) / grid) ^ 2.
Proof.
  intros k grid D u u' Hg HD. set (m := fun i => half_even reals (u i / grid)). set (m' := fun i => half_even reals (u' i / grid)).
  rewrite gap_is_sq, <- norm_squared.
  set (e := fun i => (u i / grid - IZR (m i)) - (u' i / grid - IZR (m' i))).
  assert (He : norm k e <= sqrt (INR k)).
  { apply norm_le; [ apply sqrt_pos | ]. rewrite sqrt_sqrt by apply pos_INR.
    rewrite <- (Rmult_1_r (INR k)), <- sum_const. apply sum_le. intros i _.
    pose proof (half_even_near (u i / grid)) as H1. pose proof (half_even_near (u' i / grid)) as H2.
    fold (m i) in H1. fold (m' i) in H2. apply within in H1, H2. unfold e.
    set (a := u i / grid - IZR (m i)) in *. set (b := u' i / grid - IZR (m' i)) in *.
    assert (- / 2 <= a <= / 2) by (unfold a; lra). assert (- / 2 <= b <= / 2) by (unfold b; lra). nra. }
  assert (E : norm k (fun i => IZR (m i) - IZR (m' i)) = norm k (fun i => / grid * (u i - u' i) - e i))
    by (apply norm_ext; intros i _; unfold e; field; lra).
  assert (Hi : 0 < / grid) by now apply Rinv_0_lt_compat.
  pose proof (norm_triangle k (fun i => / grid * (u i - u' i)) e) as Tr.
  rewrite norm_scale in Tr by lra. rewrite E.
  assert (L : norm k (fun i => / grid * (u i - u' i) - e i) <= (D + grid * sqrt (INR k)) / grid).
  { replace ((D + grid * sqrt (INR k)) / grid) with (/ grid * D + sqrt (INR k)) by (field; lra).
    apply (Rmult_le_compat_l (/ grid)) in HD; lra. }
  pose proof (norm_nonneg k (fun i => / grid * (u i - u' i) - e i)). rewrite <- Rsqr_pow2. apply Rsqr_incr_1; lra.
Qed.

(* The Renyi price of order a of a value of sensitivity D on k coordinates of a grid, with noise of deviation sigma. *)
Definition grid_price (a : nat) (grid sigma : R) (k : nat) (D : R) : R :=
  INR a * (D + grid * sqrt (INR k)) ^ 2 / (2 * sigma ^ 2).

Lemma order_above_1 a : (2 <= a)%nat -> 1 < INR a.
Proof. intro H. change 1 with (INR 1). apply lt_INR. lia. Qed.

Lemma grid_moment (a k : nat) (grid sigma D : R) (u u' : nat -> R) :
  (2 <= a)%nat -> 0 < grid -> 0 < sigma -> norm k (fun i => u i - u' i) <= D ->
  moment (lattice k) (INR a) (gauss_law (sigma / grid) (fun i => half_even reals (u i / grid)))
    (gauss_law (sigma / grid) (fun i => half_even reals (u' i / grid)))
  <= exp ((INR a - 1) * grid_price a grid sigma k D).
Proof.
  intros Ha Hg Hs HD. assert (H1 := order_above_1 a Ha).
  rewrite discrete_gaussian_renyi by now apply Rdiv_lt_0_compat. apply exp_le.
  apply Rmult_le_compat_l; [ lra | ]. pose proof (rounding_gap k grid D u u' Hg HD) as G. unfold grid_price.
  set (x := gap _ _ _) in *. set (w := D + grid * sqrt (INR k)) in *.
  replace (INR a * w ^ 2 / (2 * sigma ^ 2)) with (INR a * (w / grid) ^ 2 / (2 * (sigma / grid) * (sigma / grid)))
    by (field; lra).
  assert (Hr : 0 < sigma / grid) by now apply Rdiv_lt_0_compat.
  apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat; nra | ].
  apply Rmult_le_compat_l; lra.
Qed.

(** Settles: GRID, LEMMA-3. T adaptive releases of k values each, rounded to a grid and with discrete Gaussian noise, of
    sensitivity D 0, D 1, ...: every test of all of them is (eps, delta)-bounded at the Renyi price. *)
Theorem grid_releases_are_private :
  forall (k T a : nat) (grid sigma delta : R) (D : nat -> R) (value value' : list (list Z) -> nat -> R)
    (test : list (list Z) -> R),
  (2 <= a)%nat -> 0 < grid -> 0 < sigma -> 0 < delta ->
  (forall r, norm k (fun i => value r i - value' r i) <= D (length r)) -> (forall r, 0 <= test r <= 1) ->
  let expected u := over_steps (noise_mean (sigma / grid) k) T []
    (fun noise => test (released (fun r v => moved (fun i => half_even reals (u r i / grid)) v) noise)) in
  let price := lsum (fun i => grid_price a grid sigma k (D i)) (seq 0 T) in
  expected value <= exp (printed_epsilon (INR a) price delta) * expected value' + delta /\
  expected value <= exp (improved_epsilon (INR a) price delta) * expected value' + delta.
Proof.
  intros k T a grid sigma delta D value value' test Ha Hg Hs Hd HD Ht expected price.
  assert (Hr : 0 < sigma / grid) by now apply Rdiv_lt_0_compat.
  set (p := fun (u : list (list Z) -> nat -> R) r => gauss_law (sigma / grid) (fun i => half_even reals (u r i / grid))).
  assert (Dp : forall u r, density (lattice k) (p u r)) by (intros; now apply gauss_law_density).
  assert (E : forall u, expected u = ahead (lattice k) (p u) T [] test).
  { intro u. unfold expected.
    rewrite (over_steps_ahead (lattice k) (lattice_complete k) (p u) test (Dp u) Ht); [ reflexivity | ].
    intros r g Hb. now apply noise_mean_moved. }
  rewrite !E.
  apply (releases_are_private (lattice k) T (INR a) delta (p value) (p value') (fun i => grid_price a grid sigma k (D i)));
    auto using lattice_complete, order_above_1.
  - intros; now apply gauss_law_pos.
  - intros; now apply gauss_law_pos.
  - intro r. now apply gauss_law_moment.
  - intro r. now apply grid_moment.
Qed.
