(* The exact adversary of `docs/reference/adversary.md`. An adversary who may choose a triple before each step, by all that was
   released, gains at most what one profile, the leader, gains: the leader need not be above every triple, only on the functions
   that occur. These are windows, for single steps, and stairs, for blocks of any length. What is assumed is that at y >= 1 no
   triple is above the leader, and the inequalities between integrals that the program checks on a cover of all triples. *)

From Coq Require Import Reals Lra List Lia.
From Coquelicot Require Import Coquelicot.
From DPADMM Require Import Integral HockeyStick Profiles Composition Batches Subsampling Triples StepFormula Powers.
Import ListNotations.
Open Scope R_scope.

(* The profile of the exchanged pair. *)
Definition reversed (K : R -> R) (y : R) : R := 1 - y + y * K (1 / y).

(* K composed with the function that has mass m(s) e^(s/2) = e^((rise + 1/2) s) at the losses s between lo and hi. *)
Definition spread (K : R -> R) (rise lo hi y : R) : R :=
  RInt (fun s => exp ((rise + 1 / 2) * s) * K (y * exp (- s))) lo hi.

Definition smooth (K : R -> R) : Prop := forall y, 0 < y -> continuous K y.

(* A window function: a constant, and windows (weight, half of the width) about loss 0; K composed with it. *)
Definition on_windows (K : R -> R) (c : R) (windows : list (R * R)) (y : R) : R :=
  c + lsum (fun w => fst w * spread K 0 (- snd w) (snd w) y) windows.

(* What the certificate compares, with y = e^v: the profile at y > 1 and that of the exchanged pair. *)
Definition gain_above (K : R -> R) (rise X : R) : R := RInt (fun v => exp (- (rise + 1 / 2) * v) * K (exp v)) 0 X.
Definition gain_below (K : R -> R) (rise X : R) : R := RInt (fun v => exp ((rise - 1 / 2) * v) * reversed K (exp v)) 0 X.

Section Integrals.
  Context (d : R -> R) (rate : R) (Hd : smooth d).

  Let phi (v : R) : R := exp (- rate * v) * d (exp v).

  Lemma phi_continuous v : continuous phi v.
  Proof.
    apply (continuous_mult (fun v => exp (- rate * v)) (fun v => d (exp v))).
    - apply (continuous_comp (fun v => - rate * v) exp); [ | apply continuous_exp ].
      apply (continuous_mult (fun _ => - rate) (fun v => v)); [ apply continuous_const | apply continuous_id ].
    - apply (continuous_comp exp d); [ apply continuous_exp | apply Hd, exp_pos ].
  Qed.

  Lemma phi_intg a b : ex_RInt phi a b.
  Proof. apply (ex_RInt_continuous phi). intros; apply phi_continuous. Qed.

  Lemma phi_reflected a b : ex_RInt (fun v => phi (- v)) a b.
  Proof.
    apply (ex_RInt_continuous (fun v => phi (- v))). intros v _.
    apply (continuous_comp (fun v => - v) phi); [ | apply phi_continuous ].
    apply (continuous_opp (V := R_NormedModule) (fun v : R => v)), continuous_id.
  Qed.

  Lemma phi_below X : RInt phi (- X) 0 = RInt (fun v => phi (- v)) 0 X.
  Proof.
    pose proof (RInt_comp_lin phi (-1) 0 0 X (phi_intg _ _)) as E.
    replace (-1 * 0 + 0) with 0 in E by ring. replace (-1 * X + 0) with (- X) in E by ring.
    rewrite <- (opp_RInt_swap phi) by apply phi_intg. rewrite <- E.
    pose proof (RInt_scal (V := R_CompleteNormedModule) (fun v => phi (- v)) 0 X (-1) (phi_reflected _ _)) as M.
    unfold scal in *; simpl in *; unfold mult, opp in *; simpl in *.
    rewrite (RInt_ext _ (fun v => -1 * phi (- v))), M; [ ring | ]. intros v _. do 2 f_equal. ring.
  Qed.

  (* In log y composition is a convolution. *)
  Lemma substituted x lo hi :
    RInt (fun s => exp (rate * s) * d (exp x * exp (- s))) lo hi = exp (rate * x) * RInt phi (x - hi) (x - lo).
  Proof.
    pose proof (RInt_comp_lin phi (-1) x lo hi (phi_intg _ _)) as E.
    pose proof (RInt_scal (V := R_CompleteNormedModule) _ lo hi (- exp (rate * x))
      (ex_RInt_comp_lin phi (-1) x lo hi (phi_intg _ _))) as M.
    unfold scal in *; simpl in *; unfold mult in *; simpl in *.
    rewrite (RInt_ext _ (fun s => - exp (rate * x) * (-1 * phi (-1 * s + x)))), M, E.
    2: { intros s _. unfold phi. match goal with |- ?a = ?b => change (@eq R a b) end.
         replace (exp (- rate * (-1 * s + x))) with (exp (rate * s) * / exp (rate * x)).
         - replace (exp (-1 * s + x)) with (exp x * exp (- s)) by (rewrite <- exp_plus; f_equal; ring).
           field. apply Rgt_not_eq, exp_pos.
         - rewrite <- exp_Ropp, <- exp_plus. f_equal. ring. }
    replace (-1 * lo + x) with (x - lo) by ring. replace (-1 * hi + x) with (x - hi) by ring.
    rewrite <- (opp_RInt_swap phi (x - hi) (x - lo)) by apply phi_intg. unfold opp; simpl. ring.
  Qed.

  Lemma split_at a b c : RInt phi a c = RInt phi a b + RInt phi b c.
  Proof. symmetry. apply (RInt_Chasles phi); apply phi_intg. Qed.

  Lemma phi_nonneg a b : (forall y, 1 <= y -> 0 <= d y) -> 0 <= a <= b -> 0 <= RInt phi a b.
  Proof.
    intros Above (Ha & Hb). apply RInt_ge_0; [ assumption | apply phi_intg | ]. intros v (Hv & _). unfold phi.
    apply Rmult_le_pos; [ left; apply exp_pos | ]. apply Above. rewrite <- exp_0.
    destruct (Rle_lt_or_eq_dec 0 v ltac:(lra)) as [ H | <- ]; [ left; now apply exp_increasing | lra ].
  Qed.
End Integrals.


(* Both orders rest on this: an integral that begins below loss 0, where the leader may be the smaller one. *)
Lemma integral_above d rate x lo hi e : smooth d -> (forall y, 1 <= y -> 0 <= d y) -> lo <= hi -> 0 <= e ->
  (x < hi -> - e <= RInt (fun v => exp (- rate * v) * d (exp v)) 0 (x - lo)
                    + RInt (fun v => exp (- rate * - v) * d (exp (- v))) 0 (hi - x)) ->
  - (exp (rate * x) * e) <= RInt (fun s => exp (rate * s) * d (exp x * exp (- s))) lo hi.
Proof.
  intros Hd Above Hlo He H. rewrite substituted by assumption. pose proof (exp_pos (rate * x)).
  assert (- e <= RInt (fun v => exp (- rate * v) * d (exp v)) (x - hi) (x - lo)); [ | nra ].
  destruct (Rle_lt_dec hi x) as [ Far | Near ].
  - apply Rle_trans with 0; [ lra | ]. apply phi_nonneg; [ assumption.. | lra ].
  - rewrite (split_at d rate Hd _ 0). replace (x - hi) with (- (hi - x)) by ring.
    rewrite phi_below by assumption. specialize (H Near). lra.
Qed.

Section Order.
  Context (K L : R -> R) (HK : smooth K) (HL : smooth L) (rise : R).

  Let d (y : R) : R := L y - K y.

  Lemma difference_smooth : smooth d.
  Proof. intros y Hy. apply (continuous_minus (V := R_NormedModule) L K); auto. Qed.

  Lemma integrals_differ (f g h : R -> R) a b : (forall v, continuous f v) -> (forall v, continuous g v) ->
    (forall v, h v = g v - f v) -> RInt h a b = RInt g a b - RInt f a b.
  Proof.
    intros Cf Cg E. rewrite (RInt_ext h (fun v => minus (g v) (f v))) by (intros; apply E).
    apply (RInt_minus (V := R_CompleteNormedModule)); apply (ex_RInt_continuous (V := R_CompleteNormedModule)); auto.
  Qed.

  Lemma weighted_continuous M rate v : smooth M -> continuous (fun v => exp (rate * v) * M (exp v)) v.
  Proof.
    intro HM. apply continuous_ext with (fun v => exp (- - rate * v) * M (exp v)).
    - intro; now rewrite Ropp_involutive.
    - now apply phi_continuous.
  Qed.

  Lemma reversed_smooth M : smooth M -> smooth (reversed M).
  Proof.
    intros HM y Hy. unfold reversed.
    apply (continuous_plus (V := R_NormedModule) (fun y => 1 - y) (fun y => y * M (1 / y))).
    - apply (continuous_minus (V := R_NormedModule) (fun _ => 1) (fun y => y)); [ apply continuous_const | apply continuous_id ].
    - apply (continuous_mult (fun y => y) (fun y => M (1 / y))); [ apply continuous_id | ].
      apply (continuous_comp (fun y => 1 / y) M).
      + apply (continuous_mult (fun _ => 1) Rinv); [ apply continuous_const | ]. apply continuous_Rinv. lra.
      + apply HM. apply Rdiv_lt_0_compat; lra.
  Qed.

  Lemma above_differ X : RInt (fun v => exp (- (rise + 1 / 2) * v) * d (exp v)) 0 X = gain_above L rise X - gain_above K rise X.
  Proof. apply integrals_differ; try (intro; now apply weighted_continuous). intro v. unfold d. ring. Qed.

  Lemma below_differ X : RInt (fun v => exp (- (rise + 1 / 2) * - v) * d (exp (- v))) 0 X = gain_below L rise X - gain_below K rise X.
  Proof.
    apply integrals_differ; try (intro; now apply weighted_continuous, reversed_smooth).
    intro v. unfold d, reversed. replace (1 / exp v) with (exp (- v)) by (rewrite exp_Ropp; field; apply Rgt_not_eq, exp_pos).
    replace (exp (- (rise + 1 / 2) * - v)) with (exp ((rise - 1 / 2) * v) * exp v) by (rewrite <- exp_plus; f_equal; field). ring.
  Qed.

  Lemma spread_differ lo hi y : 0 < y ->
    RInt (fun s => exp ((rise + 1 / 2) * s) * d (y * exp (- s))) lo hi = spread L rise lo hi y - spread K rise lo hi y.
  Proof.
    intro Hy. apply integrals_differ; try (intro s; unfold d; ring);
      intro s; apply (continuous_mult (fun s => exp ((rise + 1 / 2) * s)) (fun s => _ (y * exp (- s)))).
    all: try (apply (continuous_comp (fun s => (rise + 1 / 2) * s) exp); [ | apply continuous_exp ];
      apply (continuous_mult (fun _ => rise + 1 / 2) (fun s => s)); [ apply continuous_const | apply continuous_id ]).
    all: apply (continuous_comp (fun s => y * exp (- s)) _);
      [ | (apply HK || apply HL); apply Rmult_lt_0_compat; [ assumption | apply exp_pos ] ].
    all: apply (continuous_mult (fun _ => y) (fun s => exp (- s))); [ apply continuous_const | ];
      apply (continuous_comp (fun s => - s) exp); [ | apply continuous_exp ];
      apply (continuous_opp (V := R_NormedModule) (fun s : R => s)), continuous_id.
  Qed.
End Order.

(** Settles: LEADER. The order on windows (adversary.md, Theorem 2): if no triple is above the leader at y >= 1, and its gains
    above and below 1 together are nowhere more than the leader's, it gains no more on any window function, at y >= 1. *)
Theorem windows_order :
  forall (K L : R -> R) (c : R) (windows : list (R * R)),
  smooth K -> smooth L -> (forall y, 1 <= y -> K y <= L y) ->
  (forall X, 0 <= X -> gain_above K 0 X + gain_below K 0 X <= gain_above L 0 X + gain_below L 0 X) ->
  (forall w, In w windows -> 0 <= fst w /\ 0 <= snd w) ->
  forall y, 1 <= y -> on_windows K c windows y <= on_windows L c windows y.
Proof.
  intros K L c windows HK HL Above Gain Hw y Hy. unfold on_windows. apply Rplus_le_compat_l, lsum_le. intros (w, a) Hin.
  destruct (Hw _ Hin) as (W & A). simpl in *. apply Rmult_le_compat_l; [ assumption | ].
  assert (Hd := difference_smooth K L HK HL). set (d := fun y => L y - K y) in *. set (x := ln y).
  assert (Ex : exp x = y) by (apply exp_ln; lra). assert (Hx : 0 <= x) by (rewrite <- ln_1; destruct Hy as [ H | <- ];
    [ left; apply ln_increasing; lra | unfold x; lra ]).
  assert (- (exp ((0 + 1 / 2) * x) * 0) <= spread L 0 (- a) a y - spread K 0 (- a) a y); [ | lra ].
  rewrite <- spread_differ by (assumption || lra). rewrite <- Ex.
  apply (integral_above d); auto; try lra.
  - intros z Hz. unfold d. pose proof (Above z Hz). lra.
  - intro Near. rewrite (split_at d (0 + 1 / 2) Hd 0 (a - x)). pose proof (above_differ K L HK HL 0 (a - x)) as U.
    pose proof (below_differ K L HK HL 0 (a - x)) as D. cbv beta in U, D. fold d in U, D.
    change (RInt (fun v => exp (- (0 + 1 / 2) * v) * d (exp v)) 0 (a - x) = gain_above L 0 (a - x) - gain_above K 0 (a - x)) in U.
    change (RInt (fun v => exp (- (0 + 1 / 2) * - v) * d (exp (- v))) 0 (a - x) = gain_below L 0 (a - x) - gain_below K 0 (a - x)) in D.
    rewrite U, D.
    assert (0 <= RInt (fun v => exp (- (0 + 1 / 2) * v) * d (exp v)) (a - x) (x - - a)).
    { apply phi_nonneg; [ assumption | | lra ]. intros z Hz. unfold d. pose proof (Above z Hz). lra. }
    pose proof (Gain (a - x) ltac:(lra)). lra.
Qed.

(** Settles: LEADER. The order on stairs, likewise, at every y: the stair that rises like e^(rise s) up to the loss a. *)
Theorem stairs_order :
  forall (K L : R -> R) (rise a : R),
  smooth K -> smooth L -> (forall y, 1 <= y -> K y <= L y) ->
  (forall X e, 0 <= X -> 0 < e -> exists b, forall b', b <= b' ->
     gain_above K rise b' + gain_below K rise X <= gain_above L rise b' + gain_below L rise X + e) ->
  forall (y on_K on_L : R), 0 < y ->
  is_lim_seq (fun n => spread K rise (- INR n) a y) on_K -> is_lim_seq (fun n => spread L rise (- INR n) a y) on_L ->
  on_K <= on_L.
Proof.
  intros K L rise a HK HL Above Gain y u v Hy Hu Hv.
  assert (Hd := difference_smooth K L HK HL). set (d := fun y => L y - K y) in *. set (x := ln y).
  assert (Ex : exp x = y) by now apply exp_ln. set (r := exp ((rise + 1 / 2) * x)). pose proof (exp_pos ((rise + 1 / 2) * x)) as Hr.
  fold r in Hr. apply le_epsilon. intros e He. set (e' := e / r). assert (He' : 0 < e') by now apply Rdiv_lt_0_compat.
  destruct (Gain (Rmax 0 (a - x)) e' (Rmax_l _ _) He') as (b & Hb).
  assert (Le : Rbar_le (- e) (v - u)).
  { apply (is_lim_seq_le_loc (fun _ => - e) (fun n => spread L rise (- INR n) a y - spread K rise (- INR n) a y)).
    - destruct (proj2 (is_lim_seq_spec INR p_infty) is_lim_seq_INR (Rmax (b - x) (- a))) as (N & HN). exists N. intros n Hn.
      specialize (HN n Hn). pose proof (Rmax_l (b - x) (- a)). pose proof (Rmax_r (b - x) (- a)).
      rewrite <- spread_differ by assumption. rewrite <- Ex. replace e with (exp ((rise + 1 / 2) * x) * e') by (unfold e'; fold r; field; lra).
      apply (integral_above d); auto; try lra.
      + intros z Hz. unfold d. pose proof (Above z Hz). lra.
      + intro Near. unfold d. rewrite above_differ, below_differ by assumption. specialize (Hb (x - - INR n) ltac:(lra)).
        rewrite Rmax_right in Hb by lra. lra.
    - apply is_lim_seq_const.
    - now apply is_lim_seq_minus'. }
  simpl in Le. lra.
Qed.

(* ---- The adversary: in each step any vectors of the ball, as functions of all that was released. ---- *)

Definition noisy_steps {A X} (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (m : nat) (l : list A) (g : list X -> A -> X)
  (r : A) (h : list X) : X -> R := on_batch (S m) (r :: l) (noisy_sum zero plus minus phi (g h)).

(* After any past the repeated integrals of both laws exist, and those of both divergences. *)
Definition regular {A X} (I : integral X) (p : A -> list X -> X -> R) (s s' : A) : Prop :=
  forall (past : list X) (k : nat) (y : R) (r : A),
  let from := fun r h => p r (h ++ past) in
  sections I k (joint (from r)) /\ sections I k (fun h => pos (joint (from s) h - y * joint (from s') h)) /\
  sections I k (fun h => pos (joint (from s') h - y * joint (from s) h)).

(* F bounds k steps, in both orders of the neighbours. *)
Definition bounded {A X} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop) (m : nat)
  (s s' : A) (l : list A) (k : nat) (F : R -> R) : Prop :=
  forall g : list X -> A -> X, (forall h a, ball (g h a)) ->
  let p := noisy_steps zero plus minus phi m l g in
  regular I p s s' -> forall y, 0 <= y -> composed I k y (p s) (p s') <= F y /\ composed I k y (p s') (p s) <= F y.

(* In every triple the later bound F costs at most F' now, at y. *)
Definition led {X} (I : integral X) (minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop) (q : R) (F F' : R -> R) (y : R) : Prop :=
  forall c a a', ball c -> ball a -> ball a' ->
  let P := triple minus phi q c a in let Q := triple minus phi q c a' in
  intg I (fun x => P x * F (y * Q x / P x)) /\ int I (fun x => P x * F (y * Q x / P x)) <= F' y.

(* A profile composed with any function; what it has at infinite loss counts as often as the function's whole mass. *)
Definition through (L : profile) (F : R -> R) (y : R) : R := base L * F 0 + lsum (fun a => fst a * F (y / snd a)) (atoms L).

Lemma joint_mass {X} (I : integral X) (p : list X -> X -> R) k h : (forall h, density I (p h)) ->
  iterated I k h (joint p) = joint p h.
Proof.
  intro Dp. revert h. induction k as [ | k IH ]; intro h; [ reflexivity | ]. simpl. destruct (Dp h) as (_ & P1 & P2).
  transitivity (int I (fun x => joint p h * p h x)).
  - symmetry. apply int_ext; [ now apply intg_scal | ]. intro x. now rewrite IH.
  - rewrite int_scal by assumption. rewrite P2. ring.
Qed.

Section Steps.
  Context {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (V : vector_space I zero plus minus) (Hphi : density I phi)
    (Ppos : forall x, 0 < phi x) (Hm : (m < length l)%nat).

  Let q := INR (S m) / INR (S (length l)).
  Let steps := noisy_steps zero plus minus phi m l.

  Lemma steps_density g r h : density I (steps g r h).
  Proof. apply on_batch_density; [ simpl; lia | ]. intro. now apply noisy_density. Qed.

  (* One more step in front, at one y. *)
  Lemma one_more k (F F' : R -> R) y : 0 <= y -> bounded I zero plus minus phi ball m s s' l k F ->
    led I minus phi ball q F F' y ->
    forall g, (forall h a, ball (g h a)) -> regular I (steps g) s s' ->
    composed I (S k) y (steps g s) (steps g s') <= F' y /\ composed I (S k) y (steps g s') (steps g s) <= F' y.
  Proof.
    intros Hy B Lead g Hg Reg.
    assert (Rest : forall x, regular I (steps (fun h => g (h ++ [x]))) s s').
    { intros x past k0 y0 r. destruct (Reg (past ++ [x]) k0 y0 r) as (R1 & R2 & R3).
      assert (E : forall r, (fun h => steps (fun h => g (h ++ [x])) r (h ++ past)) = (fun h => steps g r (h ++ past ++ [x]))).
      { intro r0. apply FunctionalExtensionality.functional_extensionality. intro h. unfold steps, noisy_steps. now rewrite app_assoc. }
      cbv beta zeta in *. rewrite !E. auto. }
    assert (Sec : forall k0 y0 r, sections I k0 (joint (steps g r)) /\
      sections I k0 (fun h => pos (joint (steps g s) h - y0 * joint (steps g s') h)) /\
      sections I k0 (fun h => pos (joint (steps g s') h - y0 * joint (steps g s) h))).
    { intros k0 y0 r. destruct (Reg [] k0 y0 r) as (R1 & R2 & R3).
      assert (E : forall r, (fun h => steps g r (h ++ [])) = steps g r)
        by (intro r0; apply FunctionalExtensionality.functional_extensionality; intro h; now rewrite app_nil_r).
      cbv beta zeta in *. rewrite !E in *. auto. }
    assert (After : forall r x, after (steps g r) x = steps (fun h => g (h ++ [x])) r) by reflexivity.
    assert (Rest0 : forall x k0 y0, sections I k0 (fun h => pos (joint (after (steps g s) x) h - y0 * joint (after (steps g s') x) h)) /\
      sections I k0 (fun h => pos (joint (after (steps g s') x) h - y0 * joint (after (steps g s) x) h))).
    { intros x k0 y0. rewrite !After. destruct (Rest x [] k0 y0 s) as (R1 & R2 & R3).
      assert (E : forall r, (fun h => steps (fun h => g (h ++ [x])) r (h ++ [])) = steps (fun h => g (h ++ [x])) r)
        by (intro r0; apply FunctionalExtensionality.functional_extensionality; intro h; now rewrite app_nil_r).
      cbv beta zeta in *. rewrite !E in *. auto. }
    split; [ apply (reduction_to_triples I zero plus minus phi ball m s s' l (g []) k y (F' y) _ _ F)
           | apply (reduction_to_triples I zero plus minus phi ball m s' s l (g []) k y (F' y) _ _ F) ]; auto;
      try (intros x y0; apply Rest0); try apply (Sec (S k) y s);
      try (intros x y0 Hy0; rewrite !After; apply (B (fun h => g (h ++ [x]))); auto).
  Qed.
End Steps.

(** Settles: LEADER. Single steps (adversary.md, Theorem 3): if F bounds k steps and costs at most F' in every triple at y >= 1,
    and F' has the symmetry of replaced records, then F' bounds k + 1 steps at every y. *)
Theorem single_step :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (k : nat) (F F' : R -> R),
  vector_space I zero plus minus -> density I phi -> (forall x, 0 < phi x) -> (m < length l)%nat ->
  bounded I zero plus minus phi ball m s s' l k F ->
  (forall y, 1 <= y -> led I minus phi ball (INR (S m) / INR (S (length l))) F F' y) ->
  1 <= F' 0 -> (forall y, 0 < y < 1 -> reversed F' y <= F' y) ->
  bounded I zero plus minus phi ball m s s' l (S k) F'.
Proof.
  intros A X I zero plus minus phi ball m s s' l k F F' V Hphi Ppos Hm B Lead One Sym g Hg p Reg y Hy.
  assert (Dp : forall r h, density I (p r h)) by (intros; now apply steps_density).
  assert (Sec : forall k0 y0 r, sections I k0 (joint (p r)) /\
    sections I k0 (fun h => pos (joint (p s) h - y0 * joint (p s') h)) /\
    sections I k0 (fun h => pos (joint (p s') h - y0 * joint (p s) h))).
  { intros k0 y0 r. destruct (Reg [] k0 y0 r) as (R1 & R2 & R3). cbv beta zeta in *.
    assert (E : forall r, (fun h => p r (h ++ [])) = p r)
      by (intro r0; apply FunctionalExtensionality.functional_extensionality; intro h; now rewrite app_nil_r).
    rewrite !E in *. auto. }
  assert (Far : forall z, 1 <= z -> composed I (S k) z (p s) (p s') <= F' z /\ composed I (S k) z (p s') (p s) <= F' z)
    by (intros z Hz; apply (one_more I zero plus minus phi ball m s s' l V Hphi Ppos Hm k F F' z); auto; lra).
  destruct (Rle_lt_dec 1 y) as [ H1 | H1 ]; [ auto | ]. destruct Hy as [ Hy | <- ].
  - destruct (Far (1 / y)) as (U & D).
    { apply Rmult_le_reg_r with y; [ assumption | ]. replace (1 / y * y) with 1 by (field; lra). lra. }
    specialize (Sym y ltac:(lra)). unfold reversed in Sym.
    assert (y * composed I (S k) (1 / y) (p s') (p s) <= y * F' (1 / y)) by (apply Rmult_le_compat_l; lra).
    assert (y * composed I (S k) (1 / y) (p s) (p s') <= y * F' (1 / y)) by (apply Rmult_le_compat_l; lra).
    split; rewrite composed_reversal; auto; try apply (proj1 (Sec (S k) y _)); try apply (Sec (S k) (1 / y) s); lra.
  - assert (Zero : forall r r', composed I (S k) 0 (p r) (p r') = 1).
    { intros r r'. unfold composed. rewrite <- (joint_mass I (p r) (S k) [] (Dp r)) at 1. f_equal.
      apply FunctionalExtensionality.functional_extensionality. intro h. rewrite Rmult_0_l, Rminus_0_r.
      apply pos_of_nonneg, joint_nonneg. intros; apply Dp. }
    rewrite !Zero. lra.
Qed.

Lemma through_mass L F : (forall a, In a (atoms L) -> 0 < snd a) -> through L F 0 = (base L + lsum fst (atoms L)) * F 0.
Proof.
  intro H. unfold through. rewrite Rmult_plus_distr_r. f_equal. rewrite Rmult_comm, <- lsum_scal. apply lsum_ext. intros a Ha.
  unfold Rdiv. rewrite Rmult_0_l. ring.
Qed.

(** Settles: LEADER. Blocks (adversary.md, Theorem 3): if G bounds k steps and L leads every triple at the one function G, then b
    further steps, each chosen by what was released, cost at most L^b G. Compositions are convolutions and commute; L need lead
    nowhere else. Rounding may have raised the mass of L above 1. *)
Theorem leading_block :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (k b : nat) (G : R -> R) (L : profile),
  vector_space I zero plus minus -> density I phi -> (forall x, 0 < phi x) -> (m < length l)%nat ->
  bounded I zero plus minus phi ball m s s' l k G -> 0 <= G 0 ->
  0 <= base L -> (forall a, In a (atoms L) -> 0 <= fst a /\ 0 < snd a) -> 1 <= base L + lsum fst (atoms L) ->
  (forall y, 0 <= y -> led I minus phi ball (INR (S m) / INR (S (length l))) G (through L G) y) ->
  bounded I zero plus minus phi ball m s s' l (b + k) (Nat.iter b (through L) G).
Proof.
  intros A X I zero plus minus phi ball m s s' l k b G L V Hphi Ppos Hm B G0 L0 LA L1 Lead.
  set (q := INR (S m) / INR (S (length l))) in *.
  assert (Hq : 0 < q <= 1).
  { split; [ apply Rdiv_lt_0_compat; apply lt_0_INR; lia | ]. unfold q.
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  assert (Grows : forall j, 0 <= Nat.iter j (through L) G 0 <= Nat.iter (S j) (through L) G 0).
  { induction j as [ | j IH ]; simpl; rewrite ?through_mass by apply LA; [ nra | ].
    simpl in IH. rewrite through_mass in IH by apply LA. set (M := base L + lsum fst (atoms L)) in *. nra. }
  assert (Leads : forall j y, 0 <= y -> led I minus phi ball q (Nat.iter j (through L) G) (Nat.iter (S j) (through L) G) y).
  { induction j as [ | j IH ]; [ exact Lead | ]. intros y Hy c a a' Hc Ha Ha' P Q.
    set (F := Nat.iter j (through L) G) in *. change (Nat.iter (S j) (through L) G) with (through L F) in *.
    assert (DP : density I P) by (apply (triple_density I zero plus minus); auto; lra).
    assert (PP : forall x, 0 < P x).
    { intro x. unfold P, triple. pose proof (Ppos (minus x c)). pose proof (Ppos (minus x a)). nra. }
    assert (Part : forall w, In w (atoms L) ->
      intg I (fun x => P x * F (y / snd w * Q x / P x)) /\ int I (fun x => P x * F (y / snd w * Q x / P x)) <= through L F (y / snd w)).
    { intros w Hw. apply (IH (y / snd w)); auto. apply Rmult_le_pos; [ assumption | ]. left. apply Rinv_0_lt_compat. now apply LA. }
    set (body := fun x => base L * F 0 * P x + lsum (fun w => fst w * (P x * F (y / snd w * Q x / P x))) (atoms L)).
    assert (E : forall x, body x = P x * through L F (y * Q x / P x)).
    { intro x. unfold body, through. rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ]. apply lsum_ext. intros w Hw.
      replace (y * Q x / P x / snd w) with (y / snd w * Q x / P x); [ ring | ]. pose proof (PP x). pose proof (LA w Hw). field. lra. }
    destruct DP as (_ & IP & MP).
    assert (Ib : intg I body).
    { apply intg_plus; [ now apply intg_scal | ].
      apply (intg_sum I (fun w x => fst w * (P x * F (y / snd w * Q x / P x)))). intros w Hw. apply intg_scal. now apply Part. }
    split; [ exact (intg_ext _ I _ _ E Ib) | ]. rewrite <- (int_ext I _ _ Ib E). unfold body.
    rewrite int_plus; [ | now apply intg_scal | ].
    2: { apply (intg_sum I (fun w x => fst w * (P x * F (y / snd w * Q x / P x)))). intros w Hw. apply intg_scal. now apply Part. }
    rewrite int_scal by assumption. rewrite MP.
    rewrite (int_sum I (fun w x => fst w * (P x * F (y / snd w * Q x / P x)))) by (intros w Hw; apply intg_scal; now apply Part).
    change (Nat.iter (S (S j)) (through L) G y) with (base L * through L F 0 + lsum (fun w => fst w * through L F (y / snd w)) (atoms L)).
    apply Rplus_le_compat.
    - rewrite Rmult_1_r. apply Rmult_le_compat_l; [ assumption | ]. apply (Grows j).
    - apply lsum_le. intros w Hw. rewrite int_scal by now apply Part. apply Rmult_le_compat_l; [ now apply LA | now apply Part ]. }
  induction b as [ | b IH ]; [ exact B | ]. intros g Hg p Reg y Hy.
  apply (one_more I zero plus minus phi ball m s s' l V Hphi Ppos Hm (b + k) (Nat.iter b (through L) G)); auto.
Qed.

(* ---- From the inequalities that the program checks to steps. ---- *)

Lemma hockey_smooth {X} (I : integral X) p q : density I p -> density I q -> smooth (fun y => hockey I y p q).
Proof.
  intros (P0 & P1 & P2) (Q0 & Q1 & Q2) y Hy.
  assert (Lip : forall u v, u <= v -> hockey I v p q <= hockey I u p q <= hockey I v p q + (v - u)).
  { intros u v Huv. unfold hockey. split.
    - apply int_le; try now apply intg_hockey. intro x. apply pos_mono. pose proof (Rmult_le_compat_r (q x) u v (Q0 x) Huv). lra.
    - replace (v - u) with ((v - u) * int I q) by (rewrite Q2; ring). rewrite <- int_scal, <- int_plus;
        [ | now apply intg_hockey | now apply intg_scal | assumption ].
      apply int_le; [ now apply intg_hockey | apply intg_plus; [ now apply intg_hockey | now apply intg_scal ] | ]. intro x.
      assert (0 <= (v - u) * q x) by (apply Rmult_le_pos; [ lra | apply Q0 ]).
      apply pos_least; pose proof (pos_nonneg (p x - v * q x)); pose proof (pos_ge (p x - v * q x)); lra. }
  apply continuity_pt_filterlim. intros e He. exists e. split; [ assumption | ]. intros z (_ & Hz). simpl in *. unfold R_dist in *.
  eapply Rle_lt_trans; [ | exact Hz ]. destruct (Rle_lt_dec y z) as [ H | H ].
  - destruct (Lip y z H). rewrite (Rabs_left1 (_ - _)), Rabs_right by lra. lra.
  - destruct (Lip z y ltac:(lra)). rewrite (Rabs_right (_ - _)), Rabs_left1 by lra. lra.
Qed.

(** Settles: LEADER. One single step of the program: the state is raised to a window function, and the leader, which passed the
    check on windows for every triple, is composed with it. That the integral over the release and the integral over the loss may
    be exchanged is assumed (Tonelli). *)
Theorem leader_of_single_steps :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (k : nat) (c : R) (windows : list (R * R)) (L F' : R -> R),
  vector_space I zero plus minus -> density I phi -> (forall x, 0 < phi x) -> (m < length l)%nat ->
  (forall w, In w windows -> 0 <= fst w /\ 0 <= snd w) ->
  let F := on_windows (fun y => pos (1 - y)) c windows in
  bounded I zero plus minus phi ball m s s' l k F -> smooth L ->
  (forall u a a', ball u -> ball a -> ball a' ->
     let P := triple minus phi (INR (S m) / INR (S (length l))) u a in
     let Q := triple minus phi (INR (S m) / INR (S (length l))) u a' in
     let K := fun y => hockey I y P Q in
     (forall y, 1 <= y -> K y <= L y) /\
     (forall X, 0 <= X -> gain_above K 0 X + gain_below K 0 X <= gain_above L 0 X + gain_below L 0 X) /\
     (forall y, 1 <= y -> intg I (fun x => P x * F (y * Q x / P x)) /\
                          int I (fun x => P x * F (y * Q x / P x)) = on_windows K c windows y)) ->
  (forall y, 1 <= y -> on_windows L c windows y <= F' y) -> 1 <= F' 0 -> (forall y, 0 < y < 1 -> reversed F' y <= F' y) ->
  bounded I zero plus minus phi ball m s s' l (S k) F'.
Proof.
  intros A X I zero plus minus phi ball m s s' l k c windows L F' V Hphi Ppos Hm Hw F B HL Checks Above One Sym.
  assert (Hq : 0 <= INR (S m) / INR (S (length l)) <= 1).
  { split; [ apply Rmult_le_pos; [ apply pos_INR | left; apply Rinv_0_lt_compat, lt_0_INR; lia ] | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  apply (single_step I zero plus minus phi ball m s s' l k F F'); auto. intros y Hy u a a' Hu Ha Ha' P Q.
  destruct (Checks u a a' Hu Ha Ha') as (Up & Gain & Tonelli). destruct (Tonelli y Hy) as (T1 & T2). split; [ exact T1 | ].
  eapply Rle_trans; [ right; exact T2 | ]. eapply Rle_trans; [ | apply (Above y Hy) ].
  apply windows_order; auto. apply hockey_smooth; now apply (triple_density I zero plus minus).
Qed.

(* K composed with a stair function: a constant, and stairs (weight, highest loss) of one rise. *)
Definition on_stairs (K : R -> R) (rise c : R) (stairs : list (R * R)) (y : R) : R :=
  c + lsum (fun w => fst w * real (Lim_seq (fun n => spread K rise (- INR n) (snd w) y))) stairs.

Lemma stair_converges K rise a y : smooth K -> (forall z, 0 < z -> 0 <= K z <= 1) -> 0 <= rise -> 0 < y ->
  is_lim_seq (fun n => spread K rise (- INR n) a y) (real (Lim_seq (fun n => spread K rise (- INR n) a y))).
Proof.
  intros HK Range Hrise Hy. apply Lim_seq_correct'. set (r := rise + 1 / 2). assert (Hr : 0 < r) by (unfold r; lra).
  set (f := fun s => exp (r * s) * K (y * exp (- s))).
  assert (C : forall lo hi, ex_RInt f lo hi).
  { intros lo hi. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros s _.
    apply (continuous_mult (fun s => exp (r * s)) (fun s => K (y * exp (- s)))).
    - apply (continuous_comp (fun s => r * s) exp); [ | apply continuous_exp ].
      apply (continuous_mult (fun _ => r) (fun s => s)); [ apply continuous_const | apply continuous_id ].
    - apply (continuous_comp (fun s => y * exp (- s)) K); [ | apply HK, Rmult_lt_0_compat; [ assumption | apply exp_pos ] ].
      apply (continuous_mult (fun _ => y) (fun s => exp (- s))); [ apply continuous_const | ].
      apply (continuous_comp (fun s => - s) exp); [ | apply continuous_exp ].
      apply (continuous_opp (V := R_NormedModule) (fun s : R => s)), continuous_id. }
  assert (Pos : forall s, 0 <= f s <= exp (r * s)).
  { intro s. unfold f. pose proof (exp_pos (r * s)). destruct (Range (y * exp (- s))); [ | nra ].
    apply Rmult_lt_0_compat; [ assumption | apply exp_pos ]. }
  assert (Nonneg : forall lo hi, lo <= hi -> 0 <= RInt f lo hi) by (intros; apply RInt_ge_0; auto; intros; apply Pos).
  apply ex_finite_lim_seq_incr with (exp (r * a) / r).
  - intro n. unfold spread. fold r f. rewrite S_INR.
    pose proof (RInt_Chasles (V := R_CompleteNormedModule) f (- (INR n + 1)) (- INR n) a (C _ _) (C _ _)) as E.
    unfold plus in E; simpl in E. rewrite <- E. pose proof (Nonneg (- (INR n + 1)) (- INR n) ltac:(lra)). lra.
  - intro n. unfold spread. fold r f. destruct (Rle_lt_dec (- INR n) a) as [ H | H ].
    + assert (D : is_RInt (fun s => exp (r * s)) (- INR n) a (exp (r * a) / r - exp (r * - INR n) / r)).
      { apply (is_RInt_derive (fun s => exp (r * s) / r) (fun s => exp (r * s))).
        - intros s _. auto_derive; [ lra | field; lra ].
        - intros s _. apply (continuous_comp (fun s => r * s) exp); [ | apply continuous_exp ].
          apply (continuous_mult (fun _ => r) (fun s => s)); [ apply continuous_const | apply continuous_id ]. }
      apply Rle_trans with (RInt (fun s => exp (r * s)) (- INR n) a).
      * apply RInt_le; auto; [ exists (exp (r * a) / r - exp (r * - INR n) / r); exact D | ]. intros; apply Pos.
      * rewrite (is_RInt_unique _ _ _ _ D). assert (0 < exp (r * - INR n) / r) by (apply Rdiv_lt_0_compat; [ apply exp_pos | assumption ]). lra.
    + pose proof (opp_RInt_swap (V := R_CompleteNormedModule) f a (- INR n) (C _ _)) as E. unfold opp in E; simpl in E.
      rewrite <- E. pose proof (Nonneg a (- INR n) ltac:(lra)). assert (0 < exp (r * a) / r) by (apply Rdiv_lt_0_compat; [ apply exp_pos | assumption ]). lra.
Qed.

(** Settles: LEADER. A block of the program: the state is raised to a stair function, and the lattice profile L, which is above the
    leader's profile, is composed with it b times. *)
Theorem leader_of_blocks :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (k b : nat) (rise c : R) (stairs : list (R * R)) (leader : R -> R) (L : profile),
  vector_space I zero plus minus -> density I phi -> (forall x, 0 < phi x) -> (m < length l)%nat ->
  0 <= rise -> (forall w, In w stairs -> 0 <= fst w) ->
  let G := on_stairs (fun y => pos (1 - y)) rise c stairs in
  bounded I zero plus minus phi ball m s s' l k G -> 0 <= G 0 ->
  smooth leader -> (forall y, 0 < y -> 0 <= leader y <= 1) ->
  (forall u a a', ball u -> ball a -> ball a' ->
     let P := triple minus phi (INR (S m) / INR (S (length l))) u a in
     let Q := triple minus phi (INR (S m) / INR (S (length l))) u a' in
     let K := fun y => hockey I y P Q in
     (forall y, 1 <= y -> K y <= leader y) /\
     (forall X e, 0 <= X -> 0 < e -> exists b, forall b', b <= b' ->
        gain_above K rise b' + gain_below K rise X <= gain_above leader rise b' + gain_below leader rise X + e) /\
     (forall y, 0 < y -> intg I (fun x => P x * G (y * Q x / P x)) /\
                         int I (fun x => P x * G (y * Q x / P x)) = on_stairs K rise c stairs y)) ->
  0 <= base L -> (forall a, In a (atoms L) -> 0 <= fst a /\ 0 < snd a) -> 1 <= base L + lsum fst (atoms L) ->
  (forall y, 0 < y -> on_stairs leader rise c stairs y <= through L G y) ->
  bounded I zero plus minus phi ball m s s' l (b + k) (Nat.iter b (through L) G).
Proof.
  intros A X I zero plus minus phi ball m s s' l k b rise c stairs leader L V Hphi Ppos Hm Hrise Hw G B G0 HL RL Checks L0 LA L1 Above.
  assert (Hq : 0 <= INR (S m) / INR (S (length l)) <= 1).
  { split; [ apply Rmult_le_pos; [ apply pos_INR | left; apply Rinv_0_lt_compat, lt_0_INR; lia ] | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  apply leading_block; auto. intros y Hy u a a' Hu Ha Ha' P Q.
  destruct (Checks u a a' Hu Ha Ha') as (Up & Gain & Tonelli).
  assert (DP : density I P) by now apply (triple_density I zero plus minus).
  assert (DQ : density I Q) by now apply (triple_density I zero plus minus).
  destruct Hy as [ Hy | <- ].
  - destruct (Tonelli y Hy) as (T1 & T2). split; [ exact T1 | ]. eapply Rle_trans; [ right; exact T2 | ].
    eapply Rle_trans; [ | apply (Above y Hy) ]. unfold on_stairs. apply Rplus_le_compat_l, lsum_le. intros w Hin.
    apply Rmult_le_compat_l; [ now apply Hw | ].
    assert (HK : smooth (fun y => hockey I y P Q)) by now apply hockey_smooth.
    apply (stairs_order (fun y => hockey I y P Q) leader rise (snd w) HK HL Up Gain y); auto; apply stair_converges; auto.
    intros z Hz. destruct DP as (P0 & P1 & P2), DQ as (Q0 & Q1 & Q2). split; [ now apply hockey_nonneg | ].
    destruct (hockey_profile I z z P Q) as (_ & _ & ?); auto; lra.
  - destruct DP as (_ & P1 & P2).
    assert (E : forall x, G 0 * P x = P x * G (0 * Q x / P x)) by (intro x; unfold Rdiv; rewrite !Rmult_0_l; ring).
    split; [ exact (intg_ext _ I _ _ E (intg_scal I (G 0) P P1)) | ].
    rewrite <- (int_ext I _ _ (intg_scal I (G 0) P P1) E), int_scal, P2, through_mass by (assumption || apply LA).
    set (M := base L + lsum fst (atoms L)) in *. nra.
Qed.
