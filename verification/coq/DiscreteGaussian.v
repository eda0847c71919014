(* The discrete Gaussian of [CKS20], which the reference adds on a grid: for vectors of any number of integers its Renyi
   moment of every integer order is exactly that of the Gaussian. *)

From Coq Require Import Reals Lra Lia List ZArith FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Lattice.
Import ListNotations.
Open Scope R_scope.

(* exp(-z^2/(2 s^2)), its sum over all integers, and the probability of z. *)
Definition gauss_weight (s : R) (z : Z) : R := exp (- (IZR z * IZR z) / (2 * s * s)).
Definition gauss_mass (s : R) : R := integer_sum (gauss_weight s).
Definition discrete_gaussian (s : R) (z : Z) : R := gauss_weight s z / gauss_mass s.

(* The law of a vector of independent discrete Gaussians around the means m 0, m 1, ... *)
Fixpoint gauss_law (s : R) (m : nat -> Z) (v : list Z) : R :=
  match v with [] => 1 | z :: v' => discrete_gaussian s (z - m O)%Z * gauss_law s (fun i => m (S i)) v' end.

(* The expected value of f over k independent discrete Gaussians around 0. *)
Fixpoint noise_mean (s : R) (k : nat) (f : list Z -> R) : R :=
  match k with
  | O => f []
  | S k' => integer_sum (fun z => discrete_gaussian s z * noise_mean s k' (fun v => f (z :: v)))
  end.

(* The squared distance of two vectors of k integers. *)
Fixpoint gap (k : nat) (m m' : nat -> Z) : R :=
  match k with
  | O => 0
  | S k' => (IZR (m O) - IZR (m' O)) * (IZR (m O) - IZR (m' O)) + gap k' (fun i => m (S i)) (fun i => m' (S i))
  end.

Lemma gap_nonneg k m m' : 0 <= gap k m m'.
Proof.
  revert m m'; induction k; intros; simpl; [ lra | ]. pose proof (IHk (fun i => m (S i)) (fun i => m' (S i))).
  pose proof (Rle_0_sqr (IZR (m O) - IZR (m' O))). unfold Rsqr in *. lra.
Qed.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [ H | -> ]; [ left; now apply exp_increasing | lra ]. Qed.

Section Gauss.
Variable s : R.
Hypothesis Hs : 0 < s.

Lemma half_summable (u : nat -> Z) : (forall n, (Z.of_nat n <= u n * u n)%Z) ->
  ex_series (fun n => Rabs (gauss_weight s (u n))).
Proof.
  intro Hu. set (c := / (2 * s * s)). assert (Hc : 0 < c) by (apply Rinv_0_lt_compat; nra).
  apply (series_dominated _ (fun n => exp (- c) ^ n)).
  - intro n. rewrite Rabs_right by (left; apply exp_pos).
    replace (exp (- c) ^ n) with (exp (- (c * INR n))).
    2: { induction n as [ | n IH ]; [ simpl; rewrite Rmult_0_r, Ropp_0, exp_0; reflexivity | ].
         rewrite S_INR. simpl. rewrite <- IH, <- exp_plus. f_equal. ring. }
    assert (L : INR n <= IZR (u n) * IZR (u n)) by (rewrite INR_IZR_INZ, <- mult_IZR; apply IZR_le, Hu).
    unfold gauss_weight. apply exp_le.
    replace (- (IZR (u n) * IZR (u n)) / (2 * s * s)) with (- (c * (IZR (u n) * IZR (u n)))) by (unfold c; field; lra).
    nra.
  - apply (ex_series_geom (exp (- c))). rewrite Rabs_right by (left; apply exp_pos).
    rewrite <- exp_0. apply exp_increasing. lra.
Qed.

Lemma weight_summable : summable (gauss_weight s).
Proof.
  split; [ apply (half_summable Z.of_nat) | apply (half_summable (fun n => (- Z.of_nat (S n))%Z)) ]; intro n; nia.
Qed.

Lemma mass_pos : 0 < gauss_mass s.
Proof.
  destruct (halves_converge _ weight_summable) as (C1 & C2). unfold gauss_mass, integer_sum.
  rewrite (Series_incr_1 (upper_half (gauss_weight s))) by exact C1.
  assert (0 < upper_half (gauss_weight s) 0) by apply exp_pos.
  assert (0 <= Series (fun k => upper_half (gauss_weight s) (S k)))
    by (apply series_nonneg; [ now apply (proj1 (ex_series_incr_1 (upper_half (gauss_weight s)))) | intro; left; apply exp_pos ]).
  assert (0 <= Series (lower_half (gauss_weight s))) by (apply series_nonneg; [ exact C2 | intro; left; apply exp_pos ]).
  lra.
Qed.

Lemma discrete_gaussian_pos z : 0 < discrete_gaussian s z.
Proof. apply Rdiv_lt_0_compat; [ apply exp_pos | apply mass_pos ]. Qed.

Lemma discrete_gaussian_density m :
  summable (fun z => discrete_gaussian s (z - m)%Z) /\ integer_sum (fun z => discrete_gaussian s (z - m)%Z) = 1.
Proof.
  assert (E : forall z, / gauss_mass s * gauss_weight s z = discrete_gaussian s z) by (intro; unfold discrete_gaussian; field; apply Rgt_not_eq, mass_pos).
  assert (S0 : summable (discrete_gaussian s))
    by exact (summable_ext _ _ E (intg_scal integers (/ gauss_mass s) _ weight_summable)).
  destruct (shifted m _ S0) as (S1 & ->). split; [ exact S1 | ].
  rewrite <- (integer_sum_ext _ _ E).
  change (int integers (fun z => / gauss_mass s * gauss_weight s z) = 1).
  rewrite (int_scal integers) by exact weight_summable. change (int integers (gauss_weight s)) with (gauss_mass s).
  pose proof mass_pos. field; lra.
Qed.

(* One integer: the a-th power of the density against the (1-a)-th is a multiple of a shifted density. *)
Lemma power_of_one (a : nat) (m m' z : Z) :
  power_term (INR a) (discrete_gaussian s (z - m)%Z) (discrete_gaussian s (z - m')%Z)
  = exp ((INR a - 1) * (INR a * ((IZR m - IZR m') * (IZR m - IZR m')) / (2 * s * s)))
    * discrete_gaussian s (z - (m' + Z.of_nat a * (m - m')))%Z.
Proof.
  assert (E : forall z, discrete_gaussian s z = exp (- (IZR z * IZR z) / (2 * s * s) - ln (gauss_mass s))).
  { intro u. unfold discrete_gaussian, gauss_weight, Rminus, Rdiv at 1.
    rewrite exp_plus, exp_Ropp, exp_ln by exact mass_pos. reflexivity. }
  rewrite !E. unfold power_term, Rpower. rewrite !ln_exp, <- !exp_plus. f_equal.
  rewrite !minus_IZR, plus_IZR, mult_IZR, minus_IZR, <- INR_IZR_INZ. field. lra.
Qed.

Lemma gauss_law_pos m v : 0 < gauss_law s m v.
Proof.
  revert m; induction v as [ | z v IH ]; intro m; simpl; [ lra | ].
  apply Rmult_lt_0_compat; [ apply discrete_gaussian_pos | apply IH ].
Qed.

(* A product of a function of the first integer and one of the rest. *)
Lemma lattice_product k (f : Z -> R) (g : list Z -> R) : summable f -> intg (lattice k) g ->
  (forall z, 0 <= f z) -> (forall v, 0 <= g v) ->
  let h := fun v => match v with [] => 0 | z :: v' => f z * g v' end in
  intg (lattice (S k)) h /\ int (lattice (S k)) h = integer_sum f * int (lattice k) g.
Proof.
  intros Hf Hg Pf Pg h.
  assert (E : forall z, int (lattice k) (fun v => f z * g v) = int (lattice k) g * f z)
    by (intro z; rewrite (int_scal (lattice k)) by exact Hg; ring).
  split.
  - split; fold (lattice k); [ intro z; simpl; now apply intg_scal | ].
    apply (summable_ext (fun z => int (lattice k) g * f z)); [ | exact (intg_scal integers _ f Hf) ].
    intro z. rewrite <- E. apply int_ext; [ now apply intg_scal | ]. intro v. simpl. symmetry. apply Rabs_right.
    apply Rle_ge, Rmult_le_pos; auto.
  - change (integer_sum (fun z => int (lattice k) (fun v => f z * g v)) = integer_sum f * int (lattice k) g).
    rewrite (integer_sum_ext _ _ E).
    change (int integers (fun z => int (lattice k) g * f z) = int integers f * int (lattice k) g).
    rewrite (int_scal integers) by exact Hf. ring.
Qed.

Lemma lattice_S_ext k f g : (forall z v, f (z :: v) = g (z :: v)) -> intg (lattice (S k)) f ->
  intg (lattice (S k)) g /\ int (lattice (S k)) f = int (lattice (S k)) g.
Proof.
  intros H (F1 & F2). fold (lattice k) in *. split.
  - split; fold (lattice k).
    + intro z. exact (intg_ext _ (lattice k) _ _ (fun v => H z v) (F1 z)).
    + eapply summable_ext; [ | exact F2 ]. intro z. simpl. f_equal. apply functional_extensionality.
      intro v. now rewrite H.
  - apply lattice_ext. intros [ | z v ] Hv; [ discriminate | apply H ].
Qed.

(* The law of a vector is a density. *)
Lemma gauss_law_density k m : density (lattice k) (gauss_law s m).
Proof.
  split; [ intro; left; apply gauss_law_pos | ].
  revert m; induction k as [ | k IH ]; intro m; [ split; [ exact Logic.I | reflexivity ] | ].
  destruct (IH (fun i => m (S i))) as (I1 & I2). destruct (discrete_gaussian_density (m O)) as (D1 & D2).
  destruct (lattice_product k (fun z => discrete_gaussian s (z - m O)%Z) (gauss_law s (fun i => m (S i))) D1 I1) as (P1 & P2);
    [ intro; left; apply discrete_gaussian_pos | intro; left; apply gauss_law_pos | ].
  destruct (fun E => lattice_S_ext k _ (gauss_law s m) E P1) as (Q1 & Q2); [ reflexivity | ].
  split; [ exact Q1 | ]. rewrite <- Q2, P2, D2, I2. ring.
Qed.

(* Its moment of order a, with the fact that it exists. *)
Lemma gauss_law_moment k (a : nat) m m' :
  intg (lattice k) (fun v => power_term (INR a) (gauss_law s m v) (gauss_law s m' v)) /\
  moment (lattice k) (INR a) (gauss_law s m) (gauss_law s m')
  = exp ((INR a - 1) * (INR a * gap k m m' / (2 * s * s))).
Proof.
  unfold moment. revert m m'; induction k as [ | k IH ]; intros m m'.
  - split; [ exact Logic.I | ]. change (power_term (INR a) 1 1 = exp ((INR a - 1) * (INR a * 0 / (2 * s * s)))).
    unfold power_term, Rpower. rewrite ln_1, !Rmult_0_r, exp_0. unfold Rdiv. rewrite Rmult_0_l, Rmult_0_r, exp_0. ring.
  - destruct (IH (fun i => m (S i)) (fun i => m' (S i))) as (I1 & I2).
    set (c := (m' O + Z.of_nat a * (m O - m' O))%Z).
    set (e := exp ((INR a - 1) * (INR a * ((IZR (m O) - IZR (m' O)) * (IZR (m O) - IZR (m' O))) / (2 * s * s)))).
    assert (D1 : summable (fun z => e * discrete_gaussian s (z - c)%Z))
      by (apply (intg_scal integers e); apply discrete_gaussian_density).
    destruct (lattice_product k (fun z => e * discrete_gaussian s (z - c)%Z) _ D1 I1) as (P1 & P2).
    { intro z. left. apply Rmult_lt_0_compat; [ apply exp_pos | apply discrete_gaussian_pos ]. }
    { intro v. left. apply Rmult_lt_0_compat; apply exp_pos. }
    assert (E : forall z v, match z :: v with [] => 0 | z :: v' => e * discrete_gaussian s (z - c)%Z
        * power_term (INR a) (gauss_law s (fun i => m (S i)) v') (gauss_law s (fun i => m' (S i)) v') end
      = power_term (INR a) (gauss_law s m (z :: v)) (gauss_law s m' (z :: v))).
    { intros z v. unfold e, c. rewrite <- power_of_one. unfold power_term. simpl gauss_law.
      rewrite <- !Rpower_mult_distr by (apply discrete_gaussian_pos || apply gauss_law_pos). ring. }
    destruct (lattice_S_ext k _ (fun v => power_term (INR a) (gauss_law s m v) (gauss_law s m' v)) E P1) as (Q1 & Q2).
    split; [ exact Q1 | ]. rewrite <- Q2, P2, I2.
    change (int integers (fun z => e * discrete_gaussian s (z - c)%Z)
      * exp ((INR a - 1) * (INR a * gap k (fun i => m (S i)) (fun i => m' (S i)) / (2 * s * s)))
      = exp ((INR a - 1) * (INR a * gap (S k) m m' / (2 * s * s)))).
    destruct (discrete_gaussian_density c) as (C1 & C2).
    rewrite (int_scal integers e (fun z => discrete_gaussian s (z - c)%Z)) by exact C1.
    change (int integers (fun z => discrete_gaussian s (z - c)%Z)) with (integer_sum (fun z => discrete_gaussian s (z - c)%Z)).
    rewrite C2, Rmult_1_r. unfold e. rewrite <- exp_plus. f_equal. simpl gap. field. lra.
Qed.

Lemma gauss_law_moved m v : gauss_law s m (moved m v) = gauss_law s (fun _ => 0%Z) v.
Proof.
  revert m; induction v as [ | z v IH ]; intro m; [ reflexivity | ]. simpl. rewrite IH. f_equal.
  f_equal. lia.
Qed.

Lemma bounded_intg k m f : (forall v, 0 <= f v <= 1) -> intg (lattice k) (fun v => gauss_law s m v * f v).
Proof.
  intro H. apply (lattice_complete k _ (gauss_law s m)); [ | apply gauss_law_density ].
  intro v. pose proof (H v). pose proof (gauss_law_pos m v). rewrite Rabs_right by (apply Rle_ge; nra). nra.
Qed.

Lemma noise_mean_is_integral k f : (forall v, 0 <= f v <= 1) ->
  noise_mean s k f = int (lattice k) (fun v => gauss_law s (fun _ => 0%Z) v * f v).
Proof.
  revert f; induction k as [ | k IH ]; intros f H.
  - change (f [] = 1 * f []). ring.
  - change (integer_sum (fun z => discrete_gaussian s z * noise_mean s k (fun v => f (z :: v)))
      = integer_sum (fun z => int (lattice k) (fun v => discrete_gaussian s (z - 0)%Z * gauss_law s (fun _ => 0%Z) v * f (z :: v)))).
    apply integer_sum_ext. intro z. rewrite IH by (intro; apply H).
    rewrite <- (int_scal (lattice k)) by (apply bounded_intg; intro; apply H).
    apply lattice_ext. intros v _. rewrite Z.sub_0_r. ring.
Qed.

(* What is released is the noise, moved by the query: its density is the law around the query. *)
Lemma noise_mean_moved k m g : (forall v, 0 <= g v <= 1) ->
  noise_mean s k (fun v => g (moved m v)) = int (lattice k) (fun v => gauss_law s m v * g v).
Proof.
  intro H. rewrite noise_mean_is_integral by (intro; apply H).
  destruct (lattice_moved k m _ (bounded_intg k m g H)) as (_ & <-).
  apply lattice_ext. intros v _. now rewrite gauss_law_moved.
Qed.
End Gauss.

Lemma noise_mean_ext s k f g : (forall v, length v = k -> f v = g v) -> noise_mean s k f = noise_mean s k g.
Proof.
  revert f g; induction k as [ | k IH ]; intros f g H; simpl; [ now apply H | ].
  apply integer_sum_ext. intro z. f_equal. apply IH. intros v Hv. apply H. simpl; now rewrite Hv.
Qed.

(** Settles: GRID. The Renyi moment of integer order a of two vectors of k discrete Gaussians is exactly
    the Gaussian's: (a - 1) a |m - m'|^2/(2 s^2), in any dimension. *)
Theorem discrete_gaussian_renyi :
  forall (s : R) (k a : nat) (m m' : nat -> Z), 0 < s ->
  moment (lattice k) (INR a) (gauss_law s m) (gauss_law s m')
  = exp ((INR a - 1) * (INR a * gap k m m' / (2 * s * s))).
Proof. intros. now apply gauss_law_moment. Qed.

(** Settles: GRID. It is a probability. *)
Theorem discrete_gaussian_is_a_law :
  forall (s : R) (k : nat) (m : nat -> Z), 0 < s ->
  (forall v, 0 < gauss_law s m v) /\ intg (lattice k) (gauss_law s m) /\ int (lattice k) (gauss_law s m) = 1.
Proof.
  intros s k m Hs. split; [ intro; now apply gauss_law_pos | ]. apply (gauss_law_density s Hs k m).
Qed.
