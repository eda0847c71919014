(* Renyi divergences of a step on a uniform batch: Lemma 2 of [CL20] (Wang, Balle and Kasiviswanathan), for every integer
   order, from the moments of the step on a given batch. *)

From Coq Require Import Reals Lra Lia List Permutation.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Batches Subsampling Lattice.
Import ListNotations.
Open Scope R_scope.

Lemma power_term_pos a u w : 0 < power_term a u w.
Proof. apply Rmult_lt_0_compat; apply exp_pos. Qed.

(* The power term lies above its tangent planes. *)
Lemma power_term_tangent a u w U W : 1 < a -> 0 < u -> 0 < w -> 0 < U -> 0 < W ->
  let t := ln U - ln W in a * exp ((a - 1) * t) * u + (1 - a) * exp (a * t) * w <= power_term a u w.
Proof.
  intros Ha Hu Hw HU HW t. unfold power_term, Rpower. rewrite <- exp_plus.
  set (s := ln u - ln w - t). pose proof (bernoulli a s Ha) as B.
  assert (E1 : exp (a * ln u + (1 - a) * ln w) = w * exp (a * t) * exp (a * s)).
  { rewrite <- (exp_ln w Hw) at 2. rewrite <- !exp_plus. f_equal. unfold s. ring. }
  assert (E2 : exp ((a - 1) * t) * u = w * exp (a * t) * exp s).
  { rewrite <- (exp_ln w Hw) at 1. rewrite <- (exp_ln u Hu) at 1. rewrite <- !exp_plus. f_equal. unfold s. ring. }
  rewrite E1. assert (0 < w * exp (a * t)) by (apply Rmult_lt_0_compat; [ exact Hw | apply exp_pos ]).
  apply (Rmult_le_compat_l (w * exp (a * t))) in B; [ | lra ].
  replace (a * exp ((a - 1) * t) * u) with (a * (exp ((a - 1) * t) * u)) by ring. rewrite E2. lra.
Qed.

(** Settles: LEMMA-2. Power terms, hence Renyi moments, are jointly convex. *)
Theorem power_term_jointly_convex :
  forall {B : Type} (a : R) (w u v : B -> R) (l : list B), 1 < a ->
  (forall b, In b l -> 0 < w b /\ 0 < u b /\ 0 < v b) -> l <> [] ->
  power_term a (lsum (fun b => w b * u b) l) (lsum (fun b => w b * v b) l)
  <= lsum (fun b => w b * power_term a (u b) (v b)) l.
Proof.
  intros B a w u v l Ha H Hl.
  assert (Pos : forall f : B -> R, (forall b, In b l -> 0 < f b) -> 0 < lsum f l).
  { intros f Hf. destruct l as [ | b l ]; [ easy | ]. simpl. pose proof (Hf b (or_introl eq_refl)).
    assert (0 <= lsum f l) by (apply lsum_nonneg; intros; left; apply Hf; now right). lra. }
  set (U := lsum (fun b => w b * u b) l). set (V := lsum (fun b => w b * v b) l).
  assert (HU : 0 < U) by (apply Pos; intros b Hb; apply Rmult_lt_0_compat; now apply H).
  assert (HV : 0 < V) by (apply Pos; intros b Hb; apply Rmult_lt_0_compat; now apply H).
  set (t := ln U - ln V).
  apply Rle_trans with (lsum (fun b => a * exp ((a - 1) * t) * (w b * u b) + (1 - a) * exp (a * t) * (w b * v b)) l).
  - rewrite lsum_plus, !lsum_scal. fold U V. right. unfold power_term, Rpower.
    rewrite <- exp_plus.
    assert (E1 : exp ((a - 1) * t) * U = exp (a * ln U + (1 - a) * ln V)).
    { rewrite <- (exp_ln U HU) at 1. rewrite <- exp_plus. f_equal. unfold t. ring. }
    assert (E2 : exp (a * t) * V = exp (a * ln U + (1 - a) * ln V)).
    { rewrite <- (exp_ln V HV) at 1. rewrite <- exp_plus. f_equal. unfold t. ring. }
    replace (a * exp ((a - 1) * t) * U) with (a * (exp ((a - 1) * t) * U)) by ring. rewrite E1.
    replace ((1 - a) * exp (a * t) * V) with ((1 - a) * (exp (a * t) * V)) by ring. rewrite E2. ring.
  - apply lsum_le. intros b Hb. destruct (H b Hb) as (W & Ub & Vb).
    pose proof (power_term_tangent a (u b) (v b) U V Ha Ub Vb HU HV) as Tn. cbv zeta in Tn. fold t in Tn.
    apply (Rmult_le_compat_l (w b)) in Tn; lra.
Qed.

Lemma power_term_nat (j : nat) u w : 0 < u -> 0 < w -> (1 <= j)%nat -> power_term (INR j) u w = u ^ j / w ^ (j - 1).
Proof.
  intros Hu Hw Hj. unfold power_term. rewrite Rpower_pow by exact Hu. unfold Rdiv. f_equal.
  replace (1 - INR j) with (- INR (j - 1)) by (rewrite minus_INR by exact Hj; simpl; ring).
  rewrite Rpower_Ropp, Rpower_pow by exact Hw. reflexivity.
Qed.

Lemma sum_is_lsum f n : sum_f_R0 f n = lsum f (seq 0 (S n)).
Proof.
  induction n as [ | n IH ]; [ simpl; ring | ]. rewrite (seq_S (S n) 0), lsum_app, <- IH. simpl. ring.
Qed.

Lemma binomial_coefficient_pos a j : 0 < C a j.
Proof.
  unfold C. apply Rdiv_lt_0_compat; [ apply lt_0_INR, lt_O_fact | ].
  apply Rmult_lt_0_compat; apply lt_0_INR, lt_O_fact.
Qed.

(* (W + q d)^a / W^(a-1), term by term: the first two sum to W + a q d. *)
Lemma power_expanded (a : nat) q d W : (2 <= a)%nat -> 0 < W -> 0 < W + q * d ->
  power_term (INR a) (W + q * d) W
  = W + INR a * q * d + lsum (fun j => C a j * q ^ j * (d ^ j / W ^ (j - 1))) (seq 2 (a - 1)).
Proof.
  intros Ha HW HP. rewrite power_term_nat by (assumption || lia). rewrite (Rplus_comm W), binomial, sum_is_lsum.
  replace (S a) with (2 + (a - 1))%nat by lia. rewrite seq_app. rewrite lsum_app. cbn [seq lsum Nat.add].
  assert (HW' : forall k, 0 < W ^ k) by (intro; now apply pow_lt).
  assert (E : lsum (fun i => C a i * (q * d) ^ i * W ^ (a - i)) (seq 2 (a - 1))
    = W ^ (a - 1) * lsum (fun j => C a j * q ^ j * (d ^ j / W ^ (j - 1))) (seq 2 (a - 1))).
  { rewrite <- lsum_scal. apply lsum_ext. intros j Hj%in_seq. rewrite Rpow_mult_distr.
    replace (W ^ (a - 1)) with (W ^ (a - j) * W ^ (j - 1)) by (rewrite <- pow_add; f_equal; lia).
    field. apply Rgt_not_eq, HW'. }
  rewrite E. set (S := lsum _ _).
  assert (C0 : C a 0 = 1) by (unfold C; rewrite Nat.sub_0_r; simpl (fact 0); simpl INR; field; apply INR_fact_neq_0).
  assert (C1 : C a 1 = INR a).
  { destruct a as [ | b ]; [ lia | ]. unfold C. replace (Datatypes.S b - 1)%nat with b by lia.
    rewrite fact_simpl, mult_INR. simpl (fact 1). simpl (INR 1). field. apply INR_fact_neq_0. }
  rewrite C0, C1, Nat.sub_0_r. replace (W ^ a) with (W * W ^ (a - 1)) by (rewrite tech_pow_Rmult; f_equal; lia).
  simpl ((q * d) ^ 0). simpl ((q * d) ^ 1). field. apply Rgt_not_eq, HW'.
Qed.

Lemma abs_pow_sum u v j : 0 < u -> 0 < v -> Rabs (u - v) ^ j <= u ^ j + v ^ j.
Proof.
  intros Hu Hv. assert (0 <= u ^ j) by (apply pow_le; lra). assert (0 <= v ^ j) by (apply pow_le; lra).
  destruct (Rle_dec v u).
  - rewrite Rabs_right by lra. assert ((u - v) ^ j <= u ^ j) by (apply pow_incr; lra). lra.
  - rewrite Rabs_left by lra. assert ((- (u - v)) ^ j <= v ^ j) by (apply pow_incr; lra). lra.
Qed.

(* The terms of Lemma 2, M j being the bound e^((j-1) eps(j)) of the moment of order j on a given batch. *)
Definition lemma2_term (M : nat -> R) (j : nat) : R :=
  if (j =? 2)%nat then Rmin (4 * (M j - 1)) (2 * M j) else 2 * M j.
Definition lemma2_bound (M : nat -> R) (a : nat) (q : R) : R :=
  1 + lsum (fun j => C a j * q ^ j * lemma2_term M j) (seq 2 (a - 1)).

Section Triple.
  Context {X : Type} (I : integral X).
  Hypothesis HI : complete I.
  Variables (c u v : X -> R) (M : nat -> R).
  Hypothesis Pc : forall x, 0 < c x.
  Hypothesis Pu : forall x, 0 < u x.
  Hypothesis Pv : forall x, 0 < v x.
  Hypothesis Dc : density I c.
  Hypothesis Du : density I u.
  Hypothesis Dv : density I v.
  Hypothesis HM : forall j, 1 <= M j.
  Let bounded (f g : X -> R) : Prop := forall j, (2 <= j)%nat ->
    intg I (fun x => power_term (INR j) (f x) (g x)) /\ moment I (INR j) f g <= M j.
  Hypothesis Muc : bounded u c.
  Hypothesis Mvc : bounded v c.
  Hypothesis Muv : bounded u v.

  (* |u - v|^j against c. *)
  Let part (w : X -> R) (j : nat) (x : X) : R := Rabs (u x - v x) ^ j / w x ^ (j - 1).

  Lemma part_nonneg w j x : (forall x, 0 < w x) -> 0 <= part w j x.
  Proof.
    intro Hw. apply Rmult_le_pos; [ apply pow_le, Rabs_pos | ]. left. apply Rinv_0_lt_compat, pow_lt, Hw.
  Qed.

  Lemma part_split w j x : (2 <= j)%nat -> (forall x, 0 < w x) ->
    part w j x <= power_term (INR j) (u x) (w x) + power_term (INR j) (v x) (w x).
  Proof.
    intros Hj Hw. rewrite !power_term_nat by (auto; lia). unfold part, Rdiv. rewrite <- Rmult_plus_distr_r.
    apply Rmult_le_compat_r; [ left; apply Rinv_0_lt_compat, pow_lt, Hw | now apply abs_pow_sum ].
  Qed.

  Lemma self_term j x : (2 <= j)%nat -> power_term (INR j) (v x) (v x) = v x.
  Proof.
    intro Hj. rewrite power_term_nat by (auto; lia). replace j with (S (j - 1)) at 1 by lia. simpl. field.
    apply Rgt_not_eq, pow_lt, Pv.
  Qed.

  Lemma part_c j : (2 <= j)%nat -> intg I (part c j) /\ int I (part c j) <= lemma2_term M j.
  Proof.
    intro Hj. destruct (Muc j Hj) as (U1 & U2), (Mvc j Hj) as (V1 & V2).
    assert (In1 : intg I (part c j)).
    { apply (HI _ (fun x => power_term (INR j) (u x) (c x) + power_term (INR j) (v x) (c x)));
        [ | now apply intg_plus ].
      intro x. rewrite Rabs_right by (apply Rle_ge, part_nonneg, Pc). now apply part_split. }
    split; [ exact In1 | ].
    assert (L2 : int I (part c j) <= 2 * M j).
    { apply Rle_trans with (int I (fun x => power_term (INR j) (u x) (c x) + power_term (INR j) (v x) (c x))).
      - apply int_le; [ exact In1 | now apply intg_plus | intro; now apply part_split ].
      - rewrite int_plus by assumption. unfold moment in U2, V2. lra. }
    unfold lemma2_term. destruct (Nat.eqb_spec j 2) as [ -> | ]; [ | exact L2 ]. apply Rmin_glb; [ | exact L2 ].
    destruct Dc as (_ & C1 & C2), Du as (_ & u1 & u2), Dv as (_ & v1 & v2).
    set (f := fun x => 2 * power_term (INR 2) (u x) (c x) + 2 * power_term (INR 2) (v x) (c x)).
    set (g := fun x => -4 * u x + -4 * v x).
    assert (F1 : intg I f) by now apply intg_lin. assert (G1 : intg I g) by now apply intg_lin.
    assert (FG : intg I (fun x => f x + g x)) by now apply intg_plus. assert (C4 : intg I (fun x => 4 * c x)) by now apply intg_scal.
    apply Rle_trans with (int I (fun x => (f x + g x) + 4 * c x)).
    - apply int_le; [ exact In1 | now apply intg_plus | ]. intro x. unfold f, g, part.
      rewrite !power_term_nat by (auto; lia). simpl. rewrite !Rmult_1_r.
      replace (Rabs (u x - v x) * Rabs (u x - v x)) with ((u x - v x) * (u x - v x))
        by (unfold Rabs; destruct (Rcase_abs _); ring).
      pose proof (Pc x) as Hc. apply Rmult_le_reg_r with (c x); [ exact Hc | ].
      replace ((u x - v x) * (u x - v x) / c x * c x) with ((u x - v x) * (u x - v x)) by (field; lra).
      replace ((2 * (u x * u x / c x) + 2 * (v x * v x / c x) + (-4 * u x + -4 * v x) + 4 * c x) * c x)
        with (2 * (u x - c x) * (u x - c x) + 2 * (v x - c x) * (v x - c x)) by (field; lra).
      pose proof (Rle_0_sqr (u x + v x - 2 * c x)). unfold Rsqr in *. nra.
    - rewrite int_plus by assumption. rewrite (int_plus I f g) by assumption.
      unfold f, g. rewrite (int_lin _ I 2 2) by assumption. rewrite (int_lin _ I (-4) (-4)) by assumption.
      rewrite (int_scal I 4) by assumption. rewrite u2, v2, C2. unfold moment in U2, V2. lra.
  Qed.

  Lemma part_v j : (2 <= j)%nat -> intg I (part v j) /\ int I (part v j) <= lemma2_term M j.
  Proof.
    intro Hj. destruct (Muv j Hj) as (U1 & U2). destruct Du as (_ & u1 & u2), Dv as (_ & v1 & v2).
    assert (Sp : forall x, part v j x <= power_term (INR j) (u x) (v x) + v x).
    { intro x. pose proof (part_split v j x Hj Pv) as Sx. now rewrite (self_term j x Hj) in Sx. }
    assert (In1 : intg I (part v j)).
    { apply (HI _ (fun x => power_term (INR j) (u x) (v x) + v x)); [ | now apply intg_plus ].
      intro x. rewrite Rabs_right by (apply Rle_ge, part_nonneg, Pv). apply Sp. }
    split; [ exact In1 | ]. pose proof (HM j) as M1.
    assert (L2 : int I (part v j) <= 2 * M j).
    { apply Rle_trans with (int I (fun x => power_term (INR j) (u x) (v x) + v x)).
      - apply int_le; [ exact In1 | now apply intg_plus | exact Sp ].
      - rewrite int_plus by assumption. unfold moment in U2. lra. }
    unfold lemma2_term. destruct (Nat.eqb_spec j 2) as [ -> | ]; [ | exact L2 ]. apply Rmin_glb; [ | exact L2 ].
    apply Rle_trans with (int I (fun x => power_term (INR 2) (u x) (v x) + (-2 * u x + 1 * v x))).
    - assert (intg I (fun x => -2 * u x + 1 * v x)) by now apply intg_lin.
      apply int_le; [ exact In1 | now apply intg_plus | ]. intro x. unfold part.
      rewrite power_term_nat by (auto; lia). simpl. rewrite !Rmult_1_r.
      replace (Rabs (u x - v x) * Rabs (u x - v x)) with ((u x - v x) * (u x - v x))
        by (unfold Rabs; destruct (Rcase_abs _); ring).
      right. field. apply Rgt_not_eq, Pv.
    - assert (intg I (fun x => -2 * u x + 1 * v x)) by now apply intg_lin.
      rewrite int_plus by assumption. rewrite (int_lin _ I (-2) 1) by assumption. rewrite u2, v2. unfold moment in U2. lra.
  Qed.

  (* One record that is drawn with probability q. *)
  Lemma lemma2_for_triples : forall (a : nat) (q : R), (2 <= a)%nat -> 0 < q <= 1 ->
    intg I (fun x => power_term (INR a) (mix q c u x) (mix q c v x)) /\
    moment I (INR a) (mix q c u) (mix q c v) <= lemma2_bound M a q.
  Proof.
    intros a q Ha Hq. set (Q := mix q c v).
    assert (PQ : forall x, 0 < Q x) by (intro x; unfold Q, mix; pose proof (Pc x); pose proof (Pv x); nra).
    assert (PP : forall x, 0 < mix q c u x) by (intro x; unfold mix; pose proof (Pc x); pose proof (Pu x); nra).
    destruct Dc as (_ & C1 & C2), Du as (_ & u1 & u2), Dv as (_ & v1 & v2).
    set (inner := fun j x => (1 - q) * part c j x + q * part v j x).
    set (rest := fun x => lsum (fun j => C a j * q ^ j * inner j x) (seq 2 (a - 1))).
    set (head := fun x => Q x + (INR a * q * u x + - (INR a * q) * v x)).
    assert (IQ : intg I Q) by now apply intg_lin.
    assert (Iuv : intg I (fun x => INR a * q * u x + - (INR a * q) * v x)) by now apply intg_lin.
    assert (Ih : intg I head) by now apply intg_plus.
    assert (Ii : forall j, In j (seq 2 (a - 1)) -> intg I (inner j)).
    { intros j Hj%in_seq. apply intg_lin; [ apply part_c | apply part_v ]; lia. }
    assert (Ir : intg I rest)
      by (apply (intg_sum I (fun j x => C a j * q ^ j * inner j x)); intros; now apply intg_scal, Ii).
    assert (Above : forall x, power_term (INR a) (mix q c u x) (Q x) <= head x + rest x).
    { intro x. replace (mix q c u x) with (Q x + q * (u x - v x)) by (unfold Q, mix; ring).
      rewrite power_expanded; [ | exact Ha | apply PQ | replace (Q x + q * (u x - v x)) with (mix q c u x) by (unfold Q, mix; ring); apply PP ].
      unfold head. replace (Q x + INR a * q * (u x - v x)) with (Q x + (INR a * q * u x + - (INR a * q) * v x)) by ring.
      apply Rplus_le_compat_l, lsum_le. intros j Hj%in_seq. apply Rmult_le_compat_l.
      { apply Rmult_le_pos; [ left; apply binomial_coefficient_pos | apply pow_le; lra ]. }
      (* convexity of W^(1-j) *)
      assert (Cv : / Q x ^ (j - 1) <= (1 - q) * / c x ^ (j - 1) + q * / v x ^ (j - 1)).
      { destruct (Req_dec q 1) as [ -> | Hq1 ].
        - unfold Q, mix. right. replace ((1 - 1) * c x + 1 * v x) with (v x) by ring. ring.
        - pose proof (power_term_jointly_convex (INR j) (fun b : bool => if b then 1 - q else q) (fun _ => 1)
            (fun b => if b then c x else v x) [true; false]) as J. cbn [lsum] in J.
          assert (1 < INR j) by (change 1 with (INR 1); apply lt_INR; lia).
          specialize (J ltac:(assumption)). rewrite !power_term_nat in J; try lia; try lra; try apply Pc; try apply Pv.
          + replace ((1 - q) * 1 + (q * 1 + 0)) with 1 in J by ring.
            replace ((1 - q) * c x + (q * v x + 0)) with (Q x) in J by (unfold Q, mix; ring).
            rewrite pow1 in J. unfold Rdiv in J. rewrite !Rmult_1_l, Rplus_0_r in J. apply J; [ | discriminate ].
            intros b _. destruct b; repeat split; try lra; [ apply Pc | apply Pv ].
          + pose proof (Pc x); pose proof (Pv x). nra. }
      assert (Ab : (u x - v x) ^ j <= Rabs (u x - v x) ^ j) by (rewrite RPow_abs; apply Rle_abs).
      assert (Hi : 0 < / Q x ^ (j - 1)) by (apply Rinv_0_lt_compat, pow_lt, PQ).
      unfold inner, part, Rdiv.
      replace ((1 - q) * (Rabs (u x - v x) ^ j * / c x ^ (j - 1)) + q * (Rabs (u x - v x) ^ j * / v x ^ (j - 1)))
        with (Rabs (u x - v x) ^ j * ((1 - q) * / c x ^ (j - 1) + q * / v x ^ (j - 1))) by ring.
      apply Rle_trans with (Rabs (u x - v x) ^ j * / Q x ^ (j - 1)); [ apply Rmult_le_compat_r; lra | ].
      apply Rmult_le_compat_l; [ apply pow_le, Rabs_pos | exact Cv ]. }
    assert (In0 : intg I (fun x => power_term (INR a) (mix q c u x) (Q x))).
    { apply (HI _ (fun x => head x + rest x)); [ | now apply intg_plus ]. intro x.
      rewrite Rabs_right; [ apply Above | left; apply power_term_pos ]. }
    split; [ exact In0 | ]. unfold moment.
    apply Rle_trans with (int I (fun x => head x + rest x)); [ apply int_le; [ exact In0 | now apply intg_plus | exact Above ] | ].
    rewrite int_plus by assumption. unfold lemma2_bound. apply Rplus_le_compat.
    - unfold head. rewrite (int_plus I Q) by assumption. rewrite (int_lin _ I (INR a * q)) by assumption.
      unfold Q, mix. rewrite (int_lin _ I (1 - q) q) by assumption. rewrite C2, u2, v2. lra.
    - unfold rest. rewrite (int_sum I (fun j x => C a j * q ^ j * inner j x)) by (intros; now apply intg_scal, Ii).
      apply lsum_le. intros j Hj. rewrite (int_scal I _ (inner j)) by now apply Ii. apply Rmult_le_compat_l.
      { apply Rmult_le_pos; [ left; apply binomial_coefficient_pos | apply pow_le; lra ]. }
      apply in_seq in Hj. destruct (part_c j ltac:(lia)) as (P1 & P2), (part_v j ltac:(lia)) as (P3 & P4).
      unfold inner. rewrite (int_lin _ I (1 - q) q) by assumption. nra.
  Qed.

  Lemma triple_unamplified (a : nat) (q : R) : (2 <= a)%nat -> 0 < q < 1 ->
    moment I (INR a) (mix q c u) (mix q c v) <= M a.
  Proof.
    intros Ha Hq. assert (H1 : 1 < INR a) by (change 1 with (INR 1); apply lt_INR; lia).
    destruct (Muv a Ha) as (U1 & U2). destruct Dc as (_ & C1 & C2). pose proof (HM a).
    destruct (lemma2_for_triples a q Ha ltac:(lra)) as (In0 & _). unfold moment.
    apply Rle_trans with (int I (fun x => (1 - q) * c x + q * power_term (INR a) (u x) (v x))).
    - apply int_le; [ exact In0 | now apply intg_lin | ]. intro x.
      pose proof (power_term_jointly_convex (INR a) (fun b : bool => if b then 1 - q else q) (fun b => if b then c x else u x)
        (fun b => if b then c x else v x) [true; false] H1) as J. cbn [lsum] in J. rewrite !Rplus_0_r in J.
      assert (Ec : power_term (INR a) (c x) (c x) = c x).
      { rewrite power_term_nat by (auto; lia). replace a with (S (a - 1)) at 1 by lia. simpl. field.
        apply Rgt_not_eq, pow_lt, Pc. }
      rewrite Ec in J. apply J; [ | discriminate ].
      intros b _. destruct b; repeat split; auto; lra.
    - rewrite (int_lin _ I (1 - q) q) by assumption. rewrite C2. unfold moment in U2. nra.
  Qed.
End Triple.

(* Sums over batches do not depend on the order of the records. *)
Lemma lsum_splits_permutation {A} (l l' : list A) : Permutation l l' -> forall m (f : list A -> R),
  (forall b b', Permutation b b' -> f b = f b') ->
  lsum (fun s => f (fst s)) (splits m l) = lsum (fun s => f (fst s)) (splits m l').
Proof.
  induction 1 as [ | d l l' _ IH | d e l | l l' l'' _ IH1 _ IH2 ]; intros m f Hf; [ reflexivity | | | ].
  - destruct m as [ | m ]; [ rewrite !splits_0; reflexivity | ]. rewrite !lsum_splits_cons, (IH (S m) f Hf).
    f_equal. apply (IH m (fun b => f (d :: b))). intros; apply Hf; now constructor.
  - destruct m as [ | m ]; [ rewrite !splits_0; reflexivity | ]. rewrite !lsum_splits_cons.
    destruct m as [ | m ]; [ rewrite !splits_0; cbn [lsum fst]; ring | ].
    rewrite (lsum_splits_cons m e l (fun b => f (d :: b))), (lsum_splits_cons m d l (fun b => f (e :: b))).
    rewrite (lsum_ext (fun s => f (d :: e :: fst s)) (fun s => f (e :: d :: fst s))) by (intros; apply Hf; constructor).
    ring.
  - rewrite IH1 by exact Hf. now apply IH2.
Qed.

Lemma batch_mean_permutation {A} (m : nat) (l l' : list A) f : Permutation l l' ->
  (forall b b', Permutation b b' -> f b = f b') -> batch_mean m l f = batch_mean m l' f.
Proof.
  intros P Hf. unfold batch_mean, count. rewrite (lsum_splits_permutation l l' P m f Hf). f_equal. f_equal.
  pose proof (lsum_splits_permutation l l' P m (fun _ => 1) (fun _ _ _ => eq_refl)) as E.
  cbv beta in E. rewrite !lsum_const, !Rmult_1_r in E. exact E.
Qed.

(** Settles: LEMMA-2, SUBSAMPLING. Lemma 2 of [CL20] for batches without replacement, capped by the step without
    sampling: M j bounds the moment of order j when one record of a given batch is replaced. *)
Theorem lemma2_without_replacement :
  forall {A X : Type} (I : integral X) (m a : nat) (s s' : A) (l : list A) (mu : list A -> X -> R) (M : nat -> R),
  complete I -> (m <= length l)%nat -> (2 <= a)%nat -> (forall b x, 0 < mu b x) -> (forall b, density I (mu b)) ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) -> (forall j, 1 <= M j) ->
  (forall d d' B j, length B = m -> (2 <= j)%nat ->
     intg I (fun x => power_term (INR j) (mu (d :: B) x) (mu (d' :: B) x)) /\
     moment I (INR j) (mu (d :: B)) (mu (d' :: B)) <= M j) ->
  let q := INR (S m) / INR (S (length l)) in
  let P := on_batch (S m) (s :: l) mu in
  let P' := on_batch (S m) (s' :: l) mu in
  intg I (fun x => power_term (INR a) (P x) (P' x)) /\
  moment I (INR a) P P' <= Rmin (lemma2_bound M a q) (M a).
Proof.
  intros A X I m a s s' l mu M HI Hm Ha Pmu Dmu Perm HM Base q P P'.
  assert (H1 : 1 < INR a) by (change 1 with (INR 1); apply lt_INR; lia).
  destruct (Nat.eq_dec m (length l)) as [ Em | Nm ].
  - assert (Eq : q = 1) by (unfold q; rewrite Em; field; apply not_0_INR; lia).
    assert (E : forall r x, on_batch (S m) (r :: l) mu x = mu (r :: l) x).
    { intros r x. unfold on_batch, batch_mean, count. replace (S m) with (length (r :: l)) by (simpl; lia).
      rewrite splits_all. simpl. field. }
    assert (Ex : forall x, power_term (INR a) (mu (s :: l) x) (mu (s' :: l) x) = power_term (INR a) (P x) (P' x))
      by (intro x; unfold P, P'; now rewrite !E).
    destruct (Base s s' l a (eq_sym Em) Ha) as (B1 & B2).
    split; [ exact (intg_ext _ I _ _ Ex B1) | ]. unfold moment. rewrite <- (int_ext I _ _ B1 Ex).
    fold (moment I (INR a) (mu (s :: l)) (mu (s' :: l))). apply Rmin_glb; [ | exact B2 ]. rewrite Eq.
    destruct (lemma2_for_triples I HI (mu (s' :: l)) (mu (s :: l)) (mu (s' :: l)) M) with (a := a) (q := 1) as (In1 & L1); auto; try lra.
    assert (Em1 : forall x, power_term (INR a) (mix 1 (mu (s' :: l)) (mu (s :: l)) x) (mix 1 (mu (s' :: l)) (mu (s' :: l)) x)
      = power_term (INR a) (mu (s :: l) x) (mu (s' :: l) x)) by (intro x; unfold mix; f_equal; ring).
    unfold moment in *. now rewrite <- (int_ext I _ _ In1 Em1).
  - assert (Hq : 0 < q < 1).
    { unfold q. split; [ apply Rdiv_lt_0_compat; apply lt_0_INR; lia | ].
      apply Rmult_lt_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply lt_INR; lia. }
    set (inner := fun (r : A) (b : list A * list A) (j : A) => mix q (mu (j :: fst b)) (mu (r :: fst b))).
    set (middle := fun (r : A) (b : list A * list A) (x : X) =>
      lsum (fun j => / INR (length (snd b)) * inner r b j x) (snd b)).
    set (outer := fun (r : A) (x : X) => lsum (fun b => / count m l * middle r b x) (splits m l)).
    assert (E : forall r x, on_batch (S m) (r :: l) mu x = outer r x).
    { intros r x. unfold on_batch. rewrite exchange_coupling by (lia || intros; now apply Perm).
      fold q. unfold outer, middle. rewrite lsum_scal. f_equal.
      apply lsum_ext; intros b _. rewrite lsum_scal. reflexivity. }
    assert (Hc : 0 < count m l) by (apply count_pos; lia). assert (Hci : 0 < / count m l) by now apply Rinv_0_lt_compat.
    assert (Len : forall b, In b (splits m l) -> length (fst b) = m /\ 0 < INR (length (snd b)) /\ snd b <> []).
    { intros b Hb. apply splits_length in Hb. repeat split; [ apply Hb | apply lt_0_INR; lia | ].
      intro F. rewrite F in Hb. simpl in Hb. lia. }
    assert (Ne : splits m l <> []).
    { intro F. unfold count in Hc. rewrite F in Hc. simpl in Hc. lra. }
    assert (Pi : forall r b j x, 0 < inner r b j x).
    { intros. unfold inner, mix. pose proof (Pmu (j :: fst b) x). pose proof (Pmu (r :: fst b) x). nra. }
    assert (Pm : forall r b x, In b (splits m l) -> 0 < middle r b x).
    { intros r b x Hb. destruct (Len b Hb) as (_ & L1 & L2). unfold middle. rewrite lsum_scal.
      apply Rmult_lt_0_compat; [ now apply Rinv_0_lt_compat | ]. destruct (snd b) as [ | j rest ]; [ easy | ]. simpl.
      pose proof (Pi r b j x). assert (0 <= lsum (fun j => inner r b j x) rest) by (apply lsum_nonneg; intros; left; apply Pi). lra. }
    assert (Triple : forall b j, In b (splits m l) -> In j (snd b) ->
      intg I (fun x => power_term (INR a) (inner s b j x) (inner s' b j x)) /\
      moment I (INR a) (inner s b j) (inner s' b j) <= Rmin (lemma2_bound M a q) (M a)).
    { intros b j Hb Hj. destruct (Len b Hb) as (Lb & _).
      destruct (lemma2_for_triples I HI (mu (j :: fst b)) (mu (s :: fst b)) (mu (s' :: fst b)) M) with (a := a) (q := q)
        as (In1 & L1); auto; try lra.
      split; [ exact In1 | ]. apply Rmin_glb; [ exact L1 | ]. apply (triple_unamplified I HI); auto. }
    set (bound := Rmin (lemma2_bound M a q) (M a)) in *.
    set (term := fun (b : list A * list A) (j : A) (x : X) => power_term (INR a) (inner s b j x) (inner s' b j x)).
    set (row := fun (b : list A * list A) (x : X) => lsum (fun j => / INR (length (snd b)) * term b j x) (snd b)).
    set (all := fun (x : X) => lsum (fun b => / count m l * row b x) (splits m l)).
    assert (It : forall b j, In b (splits m l) -> In j (snd b) -> intg I (fun x => / INR (length (snd b)) * term b j x))
      by (intros; apply intg_scal; now apply Triple).
    assert (Irow : forall b, In b (splits m l) -> intg I (row b))
      by (intros; apply (intg_sum I (fun j x => / INR (length (snd b)) * term b j x)); intros; now apply It).
    assert (Irow' : forall b, In b (splits m l) -> intg I (fun x => / count m l * row b x)) by (intros; apply intg_scal; auto).
    assert (Iall : intg I all) by now apply (intg_sum I (fun b x => / count m l * row b x)).
    assert (Below : forall x, power_term (INR a) (P x) (P' x) <= all x).
    { intro x. unfold P, P'. rewrite !E. unfold outer.
      eapply Rle_trans; [ apply (power_term_jointly_convex (INR a) (fun _ => / count m l) (fun b => middle s b x) (fun b => middle s' b x)) | ]; auto.
      apply lsum_le. intros b Hb. apply Rmult_le_compat_l; [ lra | ]. destruct (Len b Hb) as (_ & L1 & L2).
      apply (power_term_jointly_convex (INR a) (fun _ => / INR (length (snd b))) (fun j => inner s b j x) (fun j => inner s' b j x)); auto.
      intros j _. repeat split; auto. now apply Rinv_0_lt_compat. }
    assert (In0 : intg I (fun x => power_term (INR a) (P x) (P' x))).
    { apply (HI _ all); [ | exact Iall ]. intro x. rewrite Rabs_right; [ apply Below | left; apply power_term_pos ]. }
    split; [ exact In0 | ]. unfold moment.
    apply Rle_trans with (int I all); [ now apply int_le | ].
    unfold all. rewrite (int_sum I (fun b x => / count m l * row b x)) by assumption.
    apply Rle_trans with (lsum (fun _ => / count m l * bound) (splits m l)).
    + apply lsum_le. intros b Hb. rewrite int_scal by auto. apply Rmult_le_compat_l; [ lra | ].
      unfold row. rewrite (int_sum I (fun j x => / INR (length (snd b)) * term b j x)) by (intros; now apply It).
      destruct (Len b Hb) as (_ & L1 & _).
      apply Rle_trans with (lsum (fun _ => / INR (length (snd b)) * bound) (snd b)).
      * apply lsum_le. intros j Hj. destruct (Triple b j Hb Hj) as (T1 & T2). rewrite int_scal by exact T1.
        apply Rmult_le_compat_l; [ left; now apply Rinv_0_lt_compat | exact T2 ].
      * rewrite lsum_const. right. field. lra.
    + rewrite lsum_const. fold (count m l). right. field. lra.
Qed.
